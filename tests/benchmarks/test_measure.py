"""The measuring module: order of rounds, medians, peaks, and commands that fail."""

import os
import sys
from pathlib import Path

import pytest

from benchmarks.measure import Failed, Sample, interleave, peak_mib, time_process
from benchmarks.results import compare, not_measured, render


def test_interleaving_alternates() -> None:
    """Every way runs once per round, and every other round runs in reverse."""
    order: list[str] = []

    def way(name: str) -> float:
        order.append(name)
        return float(len(order))

    samples = interleave({"a": lambda: way("a"), "b": lambda: way("b")}, rounds=2, warm_up=1)
    assert "".join(order) == "abbaab"
    assert samples["a"].times == (4.0, 5.0)


def test_sample_statistics() -> None:
    """A sample is summed up by its median and its quartiles."""
    sample = Sample((9.0, 1.0, 3.0, 5.0, 7.0))
    assert sample.median == 5.0
    assert sample.spread == (3.0, 7.0)


def test_failing_command_is_no_measurement(tmp_path: Path) -> None:
    """A command that fails raises instead of counting as fast."""
    with pytest.raises(Failed, match="status 3: no"):
        time_process(["sh", "-c", "echo no >&2; exit 3"], tmp_path, os.environ)


def test_peak_is_the_commands_own(tmp_path: Path) -> None:
    """The peak of a child is its own and not that of the measuring process."""
    small = [sys.executable, "-I", "-S", "-c", "pass"]
    large = [sys.executable, "-I", "-S", "-c", "x = b'x' * (64 << 20)"]
    assert peak_mib(large, tmp_path, os.environ) > peak_mib(small, tmp_path, os.environ) + 60


@pytest.mark.parametrize(("ours", "kept"), [(15.0, True), (25.0, False), (12.9, True)])
def test_ratio(ours: float, kept: bool) -> None:
    """A ratio is kept up to its limit and broken above."""
    result = compare("x", ours=("a", Sample((ours,))), theirs=("b", Sample((10.0,))), at_most=1.5)
    assert result.kept is kept


def test_difference_saves_a_ratio() -> None:
    """If a difference in milliseconds is promised as an alternative, it is enough."""
    ours, theirs = ("a", Sample((5.0,))), ("b", Sample((2.5,)))
    assert compare("x", ours=ours, theirs=theirs, at_most=1.6, or_plus_ms=3.0).kept
    assert not compare("x", ours=ours, theirs=theirs, at_most=1.6, or_plus_ms=2.0).kept


def test_a_time_limit_counts_as_well() -> None:
    """If a limit in milliseconds is promised with a ratio, both must be kept."""
    ours, theirs = ("a", Sample((25.0,))), ("b", Sample((10.0,)))
    kept = compare("x", ours=ours, theirs=theirs, at_most=2.8, at_most_ms=30)
    assert (kept.kept, kept.limit, kept.figure) == (True, "≤ 2.8 × and ≤ 30 ms", "2.50 ×, 25.0 ms")
    assert not compare("x", ours=ours, theirs=theirs, at_most=2.8, at_most_ms=20).kept


def test_page_shows_missing_measurements() -> None:
    """A promise that could not be measured is on the page, as not kept, with the reason."""
    page = render([not_measured("spawn", "≤ 1 ×", "status 70")], "How.")
    assert "| spawn |  |  | not measured | ≤ 1 × | **no** |" in page
    assert "- spawn: status 70" in page
