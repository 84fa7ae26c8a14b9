"""The workstream machine, and the state that its tasks imply."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.model.task import TaskStatus
from gitworker.model.task_record import Task
from gitworker.model.workstream import WorkstreamEvent, WorkstreamState
from gitworker.states.engine import InvalidTransition
from gitworker.states.workstream_machine import (
    decides,
    derive_workstream_state,
    derived_events,
    workstream_transition,
)
from tests.unit.states import tables


def made(text: str) -> list[Task]:
    """Return tasks from statuses; a `-` marks one that is not critical."""
    return [
        Task(
            id=f"t{number}",
            project_id="p",
            title="",
            description="",
            status=TaskStatus(word.strip("-")),
            critical="-" not in word,
        )
        for number, word in enumerate(text.split())
    ]


@pytest.mark.parametrize(
    ("tasks", "state"),
    [
        ("", "planned"),
        ("CANCELLED", "planned"),
        ("DEFINED READY ASSIGNED", "ready"),
        ("DEFINED IN_PROGRESS", "executing"),
        ("DEFINED PAUSED", "executing"),
        ("DEFINED WAITING_INPUT", "executing"),
        ("COMPLETED READY", "executing"),
        ("COMPLETED VERIFYING", "executing"),
        ("COMPLETED AWAITING_APPROVAL", "executing"),
        ("COMPLETED COMPLETED", "validating"),
        ("COMPLETED CANCELLED", "validating"),
        ("COMPLETED BLOCKED", "failed"),
        ("IN_PROGRESS BLOCKED", "failed"),
        ("BLOCKED- BLOCKED", "failed"),
        ("BLOCKED BLOCKED-", "failed"),
        ("COMPLETED BLOCKED-", "executing"),
        ("COMPLETED FAILED", "executing"),
    ],
)
def test_state_follows_from_the_tasks(tasks: str, state: str) -> None:
    """No task: planned; any failed critical task: failed; then running, all done, none begun."""
    assert derive_workstream_state(made(tasks)) == state


@given(st.lists(st.sampled_from(list(TaskStatus)), max_size=6))
def test_order_of_tasks_does_not_matter(statuses: list[TaskStatus]) -> None:
    """The derived state depends on the set of tasks, not on their order."""
    tasks = made(" ".join(statuses))
    assert derive_workstream_state(tasks) == derive_workstream_state(reversed(tasks))


def test_derived_state_applies_only_on_a_legal_pair() -> None:
    """A derived state moves the workstream by a row of its table, or not at all."""
    by_tasks = {
        "all_tasks_created",
        "first_task_started",
        "all_tasks_completed",
        "critical_task_failed",
    }
    moves = {
        (start, end): event
        for start, event, end in tables.rows(tables.WORKSTREAM)
        if event in by_tasks
    }
    for current in WorkstreamState:
        for derived in WorkstreamState:
            events = derived_events(current, derived)
            if (event := moves.get((current.value, derived.value))) is not None:
                assert events == (event,)
            state = current.value
            for event in events:
                state = next(
                    end for (start, end), by in moves.items() if (start, by) == (state, event)
                )
            assert state == (derived if events else current)


def test_a_task_that_ends_at_once_leads_through_several_states() -> None:
    """A workstream whose only task was blocked before it ran executes and fails."""
    assert derived_events(WorkstreamState.PLANNED, WorkstreamState.FAILED) == (
        "all_tasks_created", "first_task_started", "critical_task_failed",
    )  # fmt: skip
    assert derived_events(WorkstreamState.COMPLETED, WorkstreamState.FAILED) == ()
    assert derived_events(WorkstreamState.VALIDATING, WorkstreamState.EXECUTING) == ()


@given(st.lists(st.sampled_from(list(TaskStatus)), max_size=4), st.sampled_from(list(TaskStatus)))
def test_steps_that_decide_nothing(others: list[TaskStatus], before: TaskStatus) -> None:
    """A step that decides nothing leaves the derived state as it was."""
    for after in TaskStatus:
        if not decides(before, after):
            states = [
                derive_workstream_state(made(" ".join((*others, one)))) for one in (before, after)
            ]
            assert states[0] == states[1]


def test_transition_follows_the_table() -> None:
    """A validating or completed workstream can be cancelled, a failed one cannot."""
    planned = WorkstreamState.PLANNED
    assert workstream_transition(planned, WorkstreamEvent.ALL_TASKS_CREATED) == "ready"
    cancelled = WorkstreamEvent.USER_CANCELLED
    for state in (WorkstreamState.VALIDATING, WorkstreamState.COMPLETED):
        assert workstream_transition(state, cancelled) == "cancelled"
    with pytest.raises(InvalidTransition):
        workstream_transition(WorkstreamState.FAILED, cancelled)
