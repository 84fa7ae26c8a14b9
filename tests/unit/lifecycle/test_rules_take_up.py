"""The events that bring a worker back to work, and the refusals."""

import pytest

from gitworker.lifecycle import rules_take_up as rules
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerEvent, WorkerState

EVENTS = {
    (WorkerState.ASSIGNED, None): WorkerEvent.START,
    (WorkerState.FAILED, None): WorkerEvent.RESUME,
    (WorkerState.STALE, WorkerState.WORKING): WorkerEvent.RECOVER,
}


@pytest.mark.parametrize("state", WorkerState)
@pytest.mark.parametrize("stale_from", [None, WorkerState.WORKING, WorkerState.IN_REVIEW])
def test_events(state: WorkerState, stale_from: WorkerState | None) -> None:
    """A worker with work to do has an event that leads to it; a review continues as a review."""
    key = (state, stale_from if state is WorkerState.STALE else None)
    event = rules.event_to_work(state, stale_from=stale_from)
    assert event == EVENTS.get(key)
    assert rules.resumes(event) is (state is WorkerState.FAILED)


@pytest.mark.parametrize("state", WorkerState)
def test_states(state: WorkerState) -> None:
    """Each predicate holds in its states only."""
    in_review = WorkerState.IN_REVIEW
    assert rules.is_interrupted(state) is (state in ("STALE", "FAILED"))
    assert rules.is_at_work(state) is (state == "WORKING")
    assert rules.has_not_started(state) is (state == "ASSIGNED")
    assert rules.has_failed(state) is (state == "FAILED")
    assert rules.waits_for_verdict(state, stale_from=None) is (state in ("IN_REVIEW", "APPROVED"))
    waits = state in ("IN_REVIEW", "APPROVED", "STALE")
    assert rules.waits_for_verdict(state, stale_from=in_review) is waits
    may = waits or state in ("ASSIGNED", "WORKING")
    assert rules.may_hand_in(state, stale_from=in_review) is may
    assert rules.may_resume_unasked(state, on_purpose=True) is (state != "FAILED")
    assert rules.may_resume_unasked(state, on_purpose=False)


@pytest.mark.parametrize(
    ("status", "holder", "message", "hint"),
    [
        ("IN_PROGRESS", "docs", "worker docs holds it now", "git worker show docs"),
        ("COMPLETED", None, "the task is complete by now", "git worker reset auth"),
        ("CANCELLED", "auth", "the task was cancelled", "git worker reset auth"),
        ("ASSIGNED", None, "the task is assigned", "git worker show login"),
    ],
)
def test_refusals(status: str, holder: str | None, message: str, hint: str) -> None:
    """A task that another worker holds, that has ended or that is at work is not resumed."""
    refusal = rules.resume_refusal("auth", "login", TaskStatus(status), holder=holder)
    assert refusal is not None
    assert refusal.message == f"worker auth cannot resume login: {message}"
    assert refusal.hint == hint


@pytest.mark.parametrize("status", ["FAILED", "BLOCKED", "READY", "DEFINED"])
@pytest.mark.parametrize("holder", [None, "auth"])
def test_free_tasks(status: str, holder: str | None) -> None:
    """A task that waits is resumed by the worker that failed it."""
    assert rules.resume_refusal("auth", "login", TaskStatus(status), holder=holder) is None
