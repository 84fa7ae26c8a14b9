"""The search for the first worker of a window that fails."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.landing.search.rules_search import next_probes, span_of, whole


def search(size: int, bad: int | None, slots: int) -> tuple[int, int]:
    """Play a search whose runs end in the order they began; return prefix and number of runs."""
    span, running, runs = whole(size), [], 0
    while not span.is_settled:
        started = next_probes(span, slots, running)
        assert len(running) + len(started) <= slots
        assert not set(started) & set(running)
        running += started
        runs += len(started)
        assert running, "a search that is not settled always runs something"
        prefix = running.pop(0)
        span = span.learn(prefix, passed=bad is None or prefix < bad)
        running = [one for one in running if span.concerns(one)]
    return span.green, runs


@given(st.integers(1, 40), st.integers(1, 5), st.data())
def test_the_search_finds_the_culprit(size: int, slots: int, data: st.DataObject) -> None:
    """The longest passing prefix is found, whatever the number of parallel runs."""
    bad = data.draw(st.one_of(st.none(), st.integers(1, size)))
    green, _ = search(size, bad, slots)
    assert green == (size if bad is None else bad - 1)


@pytest.mark.parametrize(("size", "bad", "runs"), [(8, None, 1), (8, 5, 4), (8, 1, 4), (1, 1, 1)])
def test_the_search_is_short(size: int, bad: int | None, runs: int) -> None:
    """A passing window takes one run, a failing one another run for each halving."""
    assert search(size, bad, 1)[1] == runs


def test_speculation_begins_with_the_window() -> None:
    """The whole window is verified first, its parts beside it, but no known part."""
    assert next_probes(whole(8), 1) == [8]
    assert next_probes(whole(8), 3) == [8, 5, 3]
    assert next_probes(whole(8).learn(4, passed=True), 2, [8]) == [6]
    assert next_probes(whole(8).learn(8, passed=False), 2) == [5, 3]
    assert next_probes(whole(8).learn(8, passed=True), 2) == []


def test_a_machine_alone_halves_what_others_do_not_take() -> None:
    """The first of several parts gives the most information, so that a search alone is short."""
    failing = whole(16).learn(16, passed=False)
    assert next_probes(failing, 3)[0] == next_probes(failing, 1)[0] == 8


def test_a_span_from_recorded_verdicts() -> None:
    """The recorded verdicts of a window lead to the span of its search."""
    verdicts = [{"prefix": 4, "passed": False}, {"prefix": 2, "passed": True}]
    assert span_of(4, []) == whole(4)
    assert span_of(4, verdicts) == whole(4).learn(4, passed=False).learn(2, passed=True)
