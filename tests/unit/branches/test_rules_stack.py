"""The fate of stacked work, as a table."""

import pytest

from gitworker.branches.rules_stack import (
    ParentState,
    approve_refusal,
    is_active,
    merge_refusal,
    parent_state,
)
from gitworker.model.worker import WorkerState

HELD = [state for state in WorkerState if state not in (WorkerState.IDLE, WorkerState.COMPLETED)]


@pytest.mark.parametrize("state", HELD)
def test_a_parent_that_has_its_task_is_to_land(state: WorkerState) -> None:
    """A worker that still holds the task is ahead, even if that task has landed once."""
    assert parent_state(state, same_task=True, landed=False) is ParentState.AHEAD
    assert parent_state(state, same_task=True, landed=True) is ParentState.AHEAD
    assert is_active(state)


@pytest.mark.parametrize(
    ("state", "same_task"),
    [
        (WorkerState.COMPLETED, True), (WorkerState.IDLE, True), (WorkerState.IDLE, False),
        (WorkerState.WORKING, False), (None, False),
    ],
)  # fmt: skip
def test_a_parent_without_its_task(state: WorkerState | None, same_task: bool) -> None:
    """A worker that moved on has landed its task or withdrawn it."""
    assert parent_state(state, same_task=same_task, landed=True) is ParentState.LANDED
    assert parent_state(state, same_task=same_task, landed=False) is ParentState.WITHDRAWN


def test_free_workers_cannot_be_parents() -> None:
    """An idle worker, or one whose work has landed, has nothing to build on."""
    assert not is_active(WorkerState.IDLE)
    assert not is_active(WorkerState.COMPLETED)


@pytest.mark.parametrize("state", [*WorkerState, None])
def test_approval_waits_for_the_parents(state: WorkerState | None) -> None:
    """A child can be approved only if its parent is approved."""
    refusal = approve_refusal("ui", "auth", state)
    assert (refusal is None) == (state is WorkerState.APPROVED)
    if refusal is not None:
        assert (refusal.code, "auth" in refusal.message) == ("parent_first", True)
        helped = {WorkerState.STALE: "show", WorkerState.FAILED: "show"}
        at_work = {WorkerState.WORKING: "wait", WorkerState.ASSIGNED: "wait"}
        verb = {**helped, **at_work}.get(state or WorkerState.IDLE, "approve")
        assert str(refusal.hint).startswith(f"git worker {verb} auth")


@pytest.mark.parametrize("fate", ParentState)
def test_merge_waits_for_the_parent(fate: ParentState) -> None:
    """Only a parent that will land makes its child wait."""
    refusal = merge_refusal("ui", "auth", fate)
    assert (refusal is None) == (fate is not ParentState.AHEAD)
