"""The tokens and the cost of runs by the hour."""

from hypothesis import given
from hypothesis import strategies as st

from gitworker.model.tokens.prices import Cost
from gitworker.model.tokens.token_times import QUARTER_MS
from gitworker.observe.timeline.rules_burn import Used, burn_of

BOUNDS = [0, 100, 200, 250]


def test_a_run_counts_evenly() -> None:
    """Each hour has the tokens and the cost of the part of a run that is in it."""
    found = burn_of([Used("claude", 50, 150, 1000, Cost(2.0, 1.0))], BOUNDS, by="agent")
    assert [hour.tokens for hour in found.hours] == [500, 500, 0]
    assert [hour.cost for hour in found.hours] == [Cost(1.0, 0.5), Cost(1.0, 0.5), None]
    assert (found.tokens, found.cost) == (1000, Cost(2.0, 1.0))


def test_tokens_count_when_they_were_reported() -> None:
    """Each quarter of an hour has what was reported in it; the sums are those of the run."""
    bounds = [0, QUARTER_MS, 2 * QUARTER_MS, 3 * QUARTER_MS]
    times = ((0, 30), (2 * QUARTER_MS, 10))
    run = Used("a", 10, 3 * QUARTER_MS, 80, Cost(4.0), times)
    found = burn_of([run], bounds, by="agent")
    assert [hour.tokens for hour in found.hours] == [60, 0, 20]
    assert [hour.cost for hour in found.hours] == [Cost(3.0), None, Cost(1.0)]


def test_a_run_that_ended_before_its_last_report() -> None:
    """What was reported after the end counts at the end."""
    bounds = [0, QUARTER_MS, 2 * QUARTER_MS]
    found = burn_of([Used("a", 0, 5, 3, None, ((QUARTER_MS, 3),))], bounds, by="agent")
    assert [hour.tokens for hour in found.hours] == [0, 3]


def test_the_part_outside_does_not_count() -> None:
    """Tokens before the first bound and after the last one are left out."""
    found = burn_of([Used("a", -100, 100, 10, None), Used("a", 225, 275, 10, None)], BOUNDS, by="")
    assert [hour.tokens for hour in found.hours] == [5, 0, 5]
    assert found.cost is None


def test_groups_are_ordered_by_their_tokens() -> None:
    """The largest group is the first in each hour; one without tokens is left out."""
    runs = [Used("b", 0, 100, 1, None), Used("c", 0, 100, 0, None), Used("a", 100, 200, 2, None)]
    found = burn_of(runs, BOUNDS, by="agent")
    assert [(one.group, one.tokens) for one in found.groups] == [("a", 2), ("b", 1)]
    assert [[one.tokens for one in hour.shares] for hour in found.hours] == [[0, 1], [2, 0], [0, 0]]


def test_a_run_without_a_length() -> None:
    """A run that ended in its first millisecond counts in one hour."""
    found = burn_of([Used("a", 100, 100, 7, Cost(1.0))], BOUNDS, by="agent")
    assert sum(hour.tokens for hour in found.hours) == 7
    assert sum(hour.cost.usd for hour in found.hours if hour.cost) == 1.0


@given(st.integers(0, 249), st.integers(0, 250), st.integers(0, 10**9))
def test_no_token_is_lost(start: int, length: int, tokens: int) -> None:
    """The tokens of a run within the bounds add up to those of the run."""
    run = Used("a", start, min(250, start + length), tokens, None)
    assert burn_of([run], BOUNDS, by="agent").tokens == tokens
