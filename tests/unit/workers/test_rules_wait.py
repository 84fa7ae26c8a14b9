"""When a wait for a worker is over."""

from typing import Any

import pytest

from gitworker.errors import Invalid
from gitworker.model.ids import TaskId
from gitworker.model.worker import WorkerState
from gitworker.workers.rules_wait import (
    WorkerFacts,
    is_reached,
    parse_goal,
    timeout_error,
    wait_refusal,
)

S = WorkerState


def facts(
    state: WorkerState = S.WORKING,
    *,
    task: str | None = "t1",
    error: str | None = None,
    waits: bool = False,
    verdict: bool = False,
    landed: bool = False,
    **agent: Any,
) -> WorkerFacts:
    """Return the facts about worker auth."""
    found = None if task is None else TaskId(task)
    return WorkerFacts(
        "auth", state, found, error, waits_for_author=waits, has_verdict=verdict, has_landed=landed,
        **agent,
    )  # fmt: skip


def left(state: WorkerState = S.WORKING, **other: Any) -> WorkerFacts:
    """Return the facts about worker auth after its supervised agent has ended."""
    return facts(state, agent_ended=True, **other)


@pytest.mark.parametrize(
    ("text", "goal"),
    [("verdict", "verdict"), ("LANDED", "landed"), ("IN-REVIEW", "in_review"), ("idle", "idle")],
)
def test_goals(text: str, goal: str) -> None:
    """A goal is a verdict, a landing or a state, in any spelling of its letters."""
    assert parse_goal(text) == goal


def test_unknown_goals() -> None:
    """Any other goal is refused, and the hint lists the goals."""
    with pytest.raises(Invalid, match="'merged' is neither") as refused:
        parse_goal("merged")
    assert "in_review" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("goal", "now", "reached"),
    [
        ("verdict", facts(), False),
        ("verdict", facts(verdict=True), True),
        ("verdict", facts(landed=True), True),
        ("landed", facts(S.APPROVED, verdict=True), False),
        ("landed", facts(S.COMPLETED, landed=True), True),
        ("rest", facts(S.ASSIGNED), False),
        ("rest", facts(S.WORKING), False),
        ("rest", facts(S.WORKING, waits=True), True),
        ("rest", facts(S.STALE), True),
        ("rest", left(is_unchanged=True), True),
        ("rest", left(), False),
        ("failed", facts(S.FAILED), True),
        ("failed", facts(S.STALE), False),
    ],
)
def test_reached(goal: str, now: WorkerFacts, reached: bool) -> None:
    """A goal is reached by the state, the verdict or the landing that it names."""
    assert is_reached(goal, now) is reached


@pytest.mark.parametrize(
    ("first", "now", "message"),
    [
        (facts(), facts(S.IN_REVIEW), None),
        (facts(), facts(S.FAILED, error="no idea"), "auth is FAILED: no idea"),
        (facts(), facts(S.FAILED), "auth is FAILED"),
        (facts(), facts(S.IDLE, task=None), "auth no longer has task t1"),
        (facts(), facts(task="t2"), "auth no longer has task t1"),
        (facts(S.IDLE, task=None), facts(S.IDLE, task=None), "auth has no task"),
        (
            facts(),
            left(is_unchanged=True),
            "auth is WORKING: its agent ended without handing anything in",
        ),
        (
            facts(),
            left(waits=True),
            "auth is WORKING: its work was sent back after its agent had ended",
        ),
        (
            facts(),
            left(S.STALE, stale_from=S.WORKING),
            "auth is STALE: its agent ended without handing anything in",
        ),
        (facts(), left(S.STALE, stale_from=S.IN_REVIEW), None),
        (facts(), left(S.IN_REVIEW, is_unchanged=True), None),
        (facts(), left(), None),
    ],
)
def test_vain_waits(first: WorkerFacts, now: WorkerFacts, message: str | None) -> None:
    """A wait ends when the worker fails, loses its task, or is left by its agent."""
    refusal = wait_refusal("landed", first, now)
    assert (refusal and refusal.message) == message


def test_goals_without_an_agent() -> None:
    """The state that silence brings about is waited for, and the refusal names the next command."""
    assert wait_refusal("failed", facts(), left(is_unchanged=True)) is None
    failed = wait_refusal("landed", facts(), facts(S.FAILED))
    assert failed is not None
    assert (failed.hint or "").startswith("git worker resume auth ")
    refusal = wait_refusal("verdict", facts(), left(is_unchanged=True))
    assert refusal is not None
    assert (refusal.code, refusal.status) == ("agent_ended", 1)
    assert (refusal.hint or "").startswith("git worker resume auth ")


def test_timeouts() -> None:
    """A timeout is one sentence with the state, and exit status 1."""
    error = timeout_error("in_review", facts(), 2.5)
    assert (error.message, error.status) == ("auth is WORKING, not in_review, after 2.5 s", 1)
    assert timeout_error("rest", facts(), 1).message == "auth is still WORKING after 1 s"
    words = "auth is WORKING without a verdict after 1 s"
    assert timeout_error("verdict", facts(), 1).message == words
