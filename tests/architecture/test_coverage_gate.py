"""The coverage gate: deciding files complete, 92 % overall, no pass without a report."""

from typing import Any

import pytest

from tests.architecture.coverage_gate import find_shortfalls, must_be_complete


def entry(
    *, lines: tuple[int, ...] = (), branches: tuple[tuple[int, int], ...] = ()
) -> dict[str, Any]:
    """Return a file's entry of the report with these gaps."""
    return {
        "missing_lines": list(lines),
        "missing_branches": [list(branch) for branch in branches],
        "summary": {"missing_lines": len(lines), "percent_covered": 100.0 - len(lines)},
    }


def report(files: dict[str, dict[str, Any]], percent: float = 95.0) -> dict[str, Any]:
    """Return a report over `files`."""
    meta = {"branch_coverage": True}
    return {"meta": meta, "files": files, "totals": {"percent_covered": percent}}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("gitworker/states/engine.py", True),
        ("gitworker/model/ids.py", True),
        ("gitworker/repo/history/rules_approval.py", True),
        ("gitworker/tasks/rules_retry.py", True),
        ("gitworker/landing/journal.py", False),
        ("tests/rules.py", False),
    ],
)
def test_files_that_must_be_complete(path: str, expected: bool) -> None:
    """States, model and every rules file are held to 100 %."""
    assert must_be_complete(path) is expected


def test_clean_report() -> None:
    """A report that keeps every threshold has no shortfall."""
    assert list(find_shortfalls(report({"gitworker/states/a.py": entry()}))) == []


def test_gaps_are_named() -> None:
    """Missing lines, missing branches and a low total are separate complaints."""
    files = {"gitworker/states/a.py": entry(lines=(3,), branches=((4, 6),))}
    found = list(find_shortfalls(report(files, percent=91.9)))
    assert [line.split(":")[0] for line in found[:3]] == [*files, *files, "gitworker"]


def test_empty_report() -> None:
    """A report without a decisive file does not pass."""
    assert list(find_shortfalls(report({"gitworker/cli/a.py": entry()})))
