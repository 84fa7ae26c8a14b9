"""The workstream machine, and the derivation of a workstream's state from its tasks."""

from collections.abc import Iterable
from typing import Protocol

from gitworker.model.task import TaskStatus
from gitworker.model.workstream import WorkstreamEvent as E
from gitworker.model.workstream import WorkstreamState as S
from gitworker.states.engine import Machine, next_state

WORKSTREAM_MACHINE: Machine[S, E] = Machine(
    "workstream",
    S.PLANNED,
    {
        (S.PLANNED, E.ALL_TASKS_CREATED): S.READY,
        (S.PLANNED, E.USER_CANCELLED): S.CANCELLED,
        (S.READY, E.FIRST_TASK_STARTED): S.EXECUTING,
        (S.READY, E.USER_CANCELLED): S.CANCELLED,
        (S.EXECUTING, E.ALL_TASKS_COMPLETED): S.VALIDATING,
        (S.EXECUTING, E.CRITICAL_TASK_FAILED): S.FAILED,
        (S.EXECUTING, E.USER_CANCELLED): S.CANCELLED,
        (S.VALIDATING, E.VALIDATION_PASSED): S.COMPLETED,
        (S.VALIDATING, E.VALIDATION_FAILED): S.FAILED,
        (S.VALIDATING, E.USER_CANCELLED): S.CANCELLED,
        (S.COMPLETED, E.USER_CANCELLED): S.CANCELLED,  # after its landing was undone
    },
)

RUNNING = frozenset({TaskStatus.IN_PROGRESS, TaskStatus.WAITING_INPUT, TaskStatus.PAUSED})
NOT_STARTED = frozenset({TaskStatus.DEFINED, TaskStatus.READY, TaskStatus.ASSIGNED})
OPEN = frozenset({S.PLANNED, S.READY, S.EXECUTING})
ENDED = frozenset({S.COMPLETED, S.FAILED, S.CANCELLED})

# The events that follow from the tasks. `validation_failed` and `user_cancelled` are decisions.
DERIVED_EVENTS = (
    E.ALL_TASKS_CREATED,
    E.FIRST_TASK_STARTED,
    E.ALL_TASKS_COMPLETED,
    E.CRITICAL_TASK_FAILED,
)


class Member(Protocol):
    """A task of a workstream, or several in the same status."""

    @property
    def status(self) -> TaskStatus:
        """Return the status."""
        ...

    @property
    def critical(self) -> bool:
        """Return whether its failure fails the workstream."""
        ...


def is_validating(state: S) -> bool:
    """Return whether the final validation is next."""
    return state is S.VALIDATING


def takes_repairs(state: S) -> bool:
    """Return whether all tasks are complete, so that further ones can only repair their result."""
    return state in (S.VALIDATING, S.COMPLETED)


def workstream_transition(state: S, event: E) -> S:
    """Return the state that `event` leads to; raise InvalidTransition if it is not allowed."""
    return next_state(WORKSTREAM_MACHINE, state, event)


def derive_workstream_state(tasks: Iterable[Member]) -> S:
    """Return the state that follows from the tasks.

    A failed critical task fails the workstream, even while others still run; the remaining tasks
    are then cancelled. A cancelled task was dropped from the workstream and does not count. A
    failed task that is not critical keeps the workstream executing until it is skipped or dropped.
    Failed means BLOCKED: a FAILED task will still be retried, blocked or skipped.
    """
    kept = [task for task in tasks if task.status != TaskStatus.CANCELLED]
    if not kept:
        return S.PLANNED
    if any(task.critical and task.status == TaskStatus.BLOCKED for task in kept):
        return S.FAILED
    if any(task.status in RUNNING for task in kept):
        return S.EXECUTING
    if all(task.status == TaskStatus.COMPLETED for task in kept):
        return S.VALIDATING
    if all(task.status in NOT_STARTED for task in kept):
        return S.READY
    return S.EXECUTING


def derived_events(current: S, derived: S) -> tuple[E, ...]:
    """Return the events that lead from `current` to `derived` in order; none if the state stays.

    It stays if they are equal, if there are no such steps, or if only a person or the final
    validation may take them. A task that ends at once leads through several states.
    """
    paths: list[tuple[S, tuple[E, ...]]] = [(current, ())]
    for state, path in paths:
        if state == derived:
            return path
        paths += [
            (following, (*path, event))
            for event in DERIVED_EVENTS
            if (following := WORKSTREAM_MACHINE.table.get((state, event))) is not None
        ]
    return ()


def decides(before: TaskStatus, after: TaskStatus) -> bool:
    """Return whether a task's step can change the state of its workstream."""
    return not {before, after} <= NOT_STARTED and not {before, after} <= RUNNING
