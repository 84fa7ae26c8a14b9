"""The public functions of the task machine."""

import pytest

import gitworker.states
from gitworker.model.task import TaskEvent, TaskStatus
from gitworker.states.engine import InvalidTransition
from gitworker.states.task_machine import (
    VALID_STATUS_TRANSITIONS,
    VALID_TASK_TRANSITIONS,
    is_valid_status_transition,
    label_counts,
    task_transition,
)
from tests.unit.states import tables

ROWS = tables.rows(tables.TASK)


def test_transition_follows_the_table() -> None:
    """`task_transition` is the table."""
    for start, event, end in ROWS:
        assert task_transition(TaskStatus(start), TaskEvent(event)) == end


def test_transition_refuses_the_rest() -> None:
    """An admin cannot restart a task in progress without stopping it first."""
    with pytest.raises(InvalidTransition, match=r"^Invalid transition: \(IN_PROGRESS, ADMIN_RES"):
        task_transition(TaskStatus.IN_PROGRESS, TaskEvent.ADMIN_RESTART)


def test_status_transitions_are_the_pairs() -> None:
    """`is_valid_status_transition` returns True exactly for the pairs of some event."""
    pairs = {(start, end) for start, _, end in ROWS}
    for start in TaskStatus:
        for end in TaskStatus:
            assert is_valid_status_transition(start, end) == ((start.value, end.value) in pairs)
    assert {(a.value, b.value) for a, b in VALID_STATUS_TRANSITIONS} == pairs
    assert len(VALID_TASK_TRANSITIONS) == len(ROWS) == 36 + 11


def test_ended_tasks_move_by_admin_events_only() -> None:
    """COMPLETED, BLOCKED and CANCELLED are left by ADMIN events and USER_CANCELLED only."""
    for start, event, _ in ROWS:
        if start in ("COMPLETED", "BLOCKED", "CANCELLED"):
            assert event.startswith("ADMIN_") or event == "USER_CANCELLED"


@pytest.mark.parametrize("name", gitworker.states.__all__)
def test_public_names_are_importable(name: str) -> None:
    """Every public name can be imported from `gitworker.states` itself."""
    vars(gitworker.states).pop(name, None)
    value = getattr(gitworker.states, name)
    assert getattr(gitworker.states, name) is value
    assert name in gitworker.states.HOME


def test_unknown_name_is_an_attribute_error() -> None:
    """A name that is not public raises AttributeError."""
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = gitworker.states.nonsense


def test_counts_by_label() -> None:
    """Statuses that people know by the same words are counted together."""
    counts = [("AWAITING_APPROVAL", 1), ("DEFINED", 2), ("VERIFYING", 3)]
    assert label_counts(counts) == [("handed in", 4), ("waits for other tasks", 2)]
