"""The rules of fsck, as tables over every state and status."""

import pytest

from gitworker.fsck import rules_records as rules
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState

W, T = WorkerState, TaskStatus


def test_workers_with_a_task() -> None:
    """A worker has a task, a branch and a worktree from its assignment to its landing."""
    holding = {state for state in W if rules.holds_task(state)}
    assert holding == {W.ASSIGNED, W.WORKING, W.IN_REVIEW, W.APPROVED, W.STALE}


@pytest.mark.parametrize("state", WorkerState)
def test_which_statuses_agree(state: WorkerState) -> None:
    """Each state of a worker allows the statuses of its table; a free worker allows all."""
    allowed = {status for status in T if rules.agree(state, status)}
    at_work = {T.IN_PROGRESS, T.PAUSED, T.WAITING_INPUT}
    reviewed = {T.VERIFYING, T.AWAITING_APPROVAL}
    assert allowed == {
        W.ASSIGNED: {T.ASSIGNED},
        W.WORKING: at_work,
        W.IN_REVIEW: reviewed,
        W.APPROVED: reviewed,
        W.STALE: at_work | reviewed,
    }.get(state, set(T))


def test_ages() -> None:
    """A lock is stale after a minute, a payload file without a message after a day."""
    assert [rules.is_left(age) for age in (60_000, 60_001)] == [False, True]
    day = 24 * 60 * 60 * 1000
    assert [rules.is_forgotten(age) for age in (day, day + 1)] == [False, True]


def test_questions_and_their_tasks() -> None:
    """A task waits for an open question, and an open question for a task that waits."""
    waiting = [rules.waits_for_nothing(status, ("late",)) for status in T]
    assert waiting == [status is T.WAITING_INPUT for status in T]
    assert not rules.waits_for_nothing(T.WAITING_INPUT, ("late", "open"))
    at_work = {T.IN_PROGRESS, T.PAUSED, T.WAITING_INPUT}
    assert {status for status in T if rules.may_stay_open("open", status)} == at_work - {
        T.IN_PROGRESS
    }
    assert {status for status in T if rules.may_stay_open("late", status)} == at_work
    assert not rules.may_stay_open("late", None)
