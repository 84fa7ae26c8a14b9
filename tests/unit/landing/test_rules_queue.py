"""The order of the landing queue, the size of its windows, and their lines in the reflog."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.landing.rules_queue import (
    LARGEST,
    MS_A_POINT,
    PENALTY,
    Candidate,
    landing_reason,
    next_size,
    order,
    parents_first,
)

NOW = 100 * MS_A_POINT


def candidate(name: str, *, priority: int = 100, waited: int = 0, **more: object) -> Candidate:
    """Make a candidate that has waited for so many minutes."""
    at = NOW - waited * MS_A_POINT
    return Candidate(name, f"t-{name}", priority, at, **more)  # type: ignore[arg-type]


def names(found: list[Candidate]) -> str:
    return "".join(one.worker_id for one in found)


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        ([candidate("a"), candidate("b", priority=50)], "ba"),
        ([candidate("a"), candidate("b", waited=1)], "ba"),
        ([candidate("a", priority=90), candidate("b", waited=11)], "ba"),
        ([candidate("a", priority=90), candidate("b", waited=9)], "ab"),
        ([candidate("a", failures=1), candidate("b")], "ba"),
        ([candidate("a", failures=1, waited=PENALTY + 1), candidate("b")], "ab"),
        ([candidate("b"), candidate("a")], "ab"),
        ([candidate("a", after=frozenset({"t-b"})), candidate("b", priority=500)], "ba"),
        ([candidate("a", after=frozenset({"t-elsewhere"})), candidate("b", waited=1)], "ba"),
        ([candidate("a", waited=-5), candidate("b")], "ba"),
        ([candidate("a", after=frozenset({"t-b", "t-c"})), candidate("b"), candidate("c")], "bca"),
    ],
)
def test_order(candidates: list[Candidate], expected: str) -> None:
    """Priority counts, then the wait; returned work waits longer; parents come first."""
    assert names(order(candidates, NOW)) == expected


def test_a_circle_comes_last() -> None:
    """Candidates that wait for each other neither block other candidates nor are lost."""
    circle = [
        candidate("a", priority=1, after=frozenset({"t-b"})),
        candidate("b", priority=2, after=frozenset({"t-a"})),
    ]
    assert names(order([*circle, candidate("c")], NOW)) == "cab"


@given(st.permutations([candidate(c, waited=ord(c) % 3, failures=ord(c) % 2) for c in "abcdef"]))
def test_the_order_depends_on_nothing_else(shuffled: list[Candidate]) -> None:
    """The order of the input does not change the result."""
    assert order(shuffled, NOW) == order(sorted(shuffled), NOW)


def test_nothing_starves() -> None:
    """Old work of the lowest priority precedes work younger by the priority's minutes."""
    old = candidate("old", priority=1000, waited=901)
    assert order([candidate("new", priority=100), old], NOW)[0] is old


@pytest.mark.parametrize(
    ("named", "parents", "expected"),
    [
        ("abc", {}, "abc"),
        ("abc", {"a": "c"}, "cab"),
        ("abc", {"a": "b", "b": "c"}, "cba"),
        ("ab", {"a": "x"}, "ab"),
        ("ab", {"a": "b", "b": "a"}, "ba"),
    ],
)
def test_parents_come_first(named: str, parents: dict[str, str], expected: str) -> None:
    """A name comes after its parent, else the order stays; no name of a circle is lost."""
    assert "".join(parents_first(named, parents)) == expected


@pytest.mark.parametrize(
    ("setting", "last", "was_full", "passed", "expected"),
    [
        (8, None, True, True, 8),
        (8, 8, True, True, 9),
        (8, 8, False, True, 8),
        (8, 8, True, False, 4),
        (8, 1, True, False, 1),
        (8, LARGEST * 8, True, True, LARGEST * 8),
        (1, 1, True, True, 1),
        (1, 8, True, True, 1),
        (2, 32, False, True, 2 * LARGEST),
    ],
)
def test_size(setting: int, last: int | None, was_full: bool, passed: bool, expected: int) -> None:
    """A window grows by one when a full one passed, halves after a failure, or stays one."""
    assert next_size(setting, last=last, was_full=was_full, passed=passed) == expected


def test_a_reflog_entry() -> None:
    """A landing names its workers and their tasks, of a large number the first ones."""
    assert landing_reason([("amy", "t1"), ("bob", "t2")]) == ("git worker merge amy: t1, bob: t2")
    many = [("a" * 63, "t" * 100)] * 10_000
    assert landing_reason(many).endswith(" and 9960 more")
    assert len(landing_reason(many)) < 10_000
