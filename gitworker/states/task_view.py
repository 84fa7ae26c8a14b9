"""The lifecycle view: a task's transitions in the eight states of the transition log.

The view keeps the log's promise that a terminal state is never left: a transition that its table
does not have ends this incarnation of the task legally and opens the next one, `<task>#<n+1>`. The
view's position (`LifecyclePosition`) is stored with the task, because it does not follow from the
status: after VERIFY_FAILED the task is FAILED and may be retried, but its view has ended.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from gitworker.model.task import LifecycleState as V
from gitworker.model.task import TaskEvent as E
from gitworker.model.task import TaskStatus as S
from gitworker.states.task_machine import VALID_TASK_TRANSITIONS

TRIGGERS: Mapping[tuple[V, V], str] = MappingProxyType(
    {
        (V.PENDING, V.QUEUED): "scheduler_assigned",
        (V.QUEUED, V.RUNNING): "worker_started",
        (V.RUNNING, V.VALIDATING): "execution_completed",
        (V.RUNNING, V.RETRYING): "execution_failed",
        (V.RUNNING, V.FAILED): "execution_failed",
        (V.RUNNING, V.CANCELLED): "user_cancelled",
        (V.RETRYING, V.QUEUED): "retry_delay_elapsed",
        (V.VALIDATING, V.COMPLETED): "validation_passed",
        (V.VALIDATING, V.FAILED): "validation_failed",
        # our additions to the format: a task that has not ended can be cancelled
        (V.PENDING, V.CANCELLED): "user_cancelled",
        (V.QUEUED, V.CANCELLED): "user_cancelled",
        (V.RETRYING, V.CANCELLED): "user_cancelled",
        (V.VALIDATING, V.CANCELLED): "user_cancelled",
    }
)
TERMINAL = frozenset({V.COMPLETED, V.FAILED, V.CANCELLED})

VIEW_OF: Mapping[S, V] = MappingProxyType(
    {
        S.DEFINED: V.PENDING,
        S.READY: V.QUEUED,
        S.ASSIGNED: V.QUEUED,
        S.IN_PROGRESS: V.RUNNING,
        S.WAITING_INPUT: V.RUNNING,
        S.PAUSED: V.RUNNING,
        S.VERIFYING: V.VALIDATING,
        S.AWAITING_APPROVAL: V.VALIDATING,
        S.COMPLETED: V.COMPLETED,
        S.FAILED: V.RETRYING,
        S.BLOCKED: V.FAILED,
        S.CANCELLED: V.CANCELLED,
    }
)
ENDED = frozenset({S.COMPLETED, S.BLOCKED, S.CANCELLED})

# An administrator's skip completes a task without work. Dependents need a completed task in the
# log, so the new incarnation passes through every state, and each line records the waived rule.
SKIP_WALK = (V.PENDING, V.QUEUED, V.RUNNING, V.VALIDATING, V.COMPLETED)

# A task leaves DEFINED without its dependencies only by a restart, from there or after a cancel;
# in every other status they were met, or waived, before.
DEPENDENCIES_UNCHECKED = frozenset({S.DEFINED, S.CANCELLED})


class LifecyclePosition(NamedTuple):
    """The position of a task in the lifecycle view; a new task is at `View()`."""

    incarnation: int = 1
    state: V = V.PENDING


class ViewLine(NamedTuple):
    """One line for the log; `metadata` holds the facts that the view adds."""

    incarnation: int
    from_state: V
    to_state: V
    metadata: Mapping[str, object] = MappingProxyType({})

    @property
    def trigger(self) -> str:
        """Return the trigger of the pair of states."""
        return TRIGGERS[self.from_state, self.to_state]


Written = tuple[tuple[ViewLine, ...], LifecyclePosition]


def lifecycle_lines(
    view: LifecyclePosition, *, from_status: S, event: E, to_status: S, retries_left: bool
) -> Written:
    """Return the lines that one step of the task writes, and the view after it.

    The step must be legal. `retries_left` matters for AGENT_FAILED only: without a retry left, no
    line is written until MAX_RETRIES or another event decides the end.
    """
    if event == E.ADMIN_SKIP:
        return _skip(view, from_status)
    target = _target(view, event=event, to_status=to_status, retries_left=retries_left)
    notes = _notes(from_status, event)
    if target == view.state:
        return (), view
    if (view.state, target) in TRIGGERS:
        return _walk(view.incarnation, (view.state, target), notes)
    if event == E.RETRY and view.state == V.RUNNING:
        return _walk(view.incarnation, (view.state, V.RETRYING, target), notes)
    if to_status in ENDED:
        return _close(view, from_status)
    return _reopen(view, from_status, (V.PENDING, target), notes)


def entity_id(task_id: str, incarnation: int) -> str:
    """Return the name of an incarnation in the log: `task`, then `task#2`, `task#3`…"""
    return task_id if incarnation == 1 else f"{task_id}#{incarnation}"


class LifecycleRow(NamedTuple):
    """One row of the printed table: a legal step from one position, and its lines."""

    from_status: S
    event: E
    to_status: S
    before: V
    retries_left: bool
    lines: tuple[ViewLine, ...]
    after: LifecyclePosition


def lifecycle_rows() -> Iterator[LifecycleRow]:
    """Yield the lines of every legal step, from every view state that its status can have.

    Incarnations are relative: each row starts in the first.
    """
    for status, before in sorted(_positions(), key=_in_table_order):
        for (origin, event), target in VALID_TASK_TRANSITIONS.items():
            if origin != status:
                continue
            for retries_left in (True, False) if event == E.AGENT_FAILED else (True,):
                lines, after = lifecycle_lines(
                    LifecyclePosition(1, before),
                    from_status=status,
                    event=event,
                    to_status=target,
                    retries_left=retries_left,
                )
                yield LifecycleRow(status, event, target, before, retries_left, lines, after)


def _target(view: LifecyclePosition, *, event: E, to_status: S, retries_left: bool) -> V:
    if event == E.VERIFY_FAILED:
        return V.FAILED  # the view has no step from validating to retrying
    if event == E.AGENT_FAILED and not retries_left:
        return view.state
    return VIEW_OF[to_status]


def _notes(from_status: S, event: E) -> dict[str, object]:
    if event == E.ADMIN_RESTART and from_status in DEPENDENCIES_UNCHECKED:
        return {"waived": "dependencies"}
    return {}


def _walk(incarnation: int, path: tuple[V, ...], notes: Mapping[str, object]) -> Written:
    lines = tuple(
        ViewLine(incarnation, start, end, notes) for start, end in zip(path, path[1:], strict=False)
    )
    return lines, LifecyclePosition(incarnation, path[-1])


def _close(
    view: LifecyclePosition, from_status: S, notes: Mapping[str, object] | None = None
) -> Written:
    """End this incarnation in the terminal state that is legal and true, unless it has ended."""
    if view.state in TERMINAL:
        return (), view
    failed = view.state == V.VALIDATING or (view.state == V.RUNNING and from_status == S.FAILED)
    return _walk(view.incarnation, (view.state, V.FAILED if failed else V.CANCELLED), notes or {})


def _reopen(
    view: LifecyclePosition, from_status: S, path: tuple[V, ...], notes: Mapping[str, object]
) -> Written:
    following = view.incarnation + 1
    closing, _ = _close(view, from_status, {"next_incarnation": following})
    opening, after = _walk(following, path, notes)
    return closing + opening, after


def _skip(view: LifecyclePosition, from_status: S) -> Written:
    return _reopen(view, from_status, SKIP_WALK, {"waived": "verification"})


def _positions() -> set[tuple[S, V]]:
    """Return every (status, view state) that some sequence of legal steps reaches."""
    found = {(S.DEFINED, V.PENDING)}
    fresh = list(found)
    while fresh:
        status, state = fresh.pop()
        for (origin, event), target in VALID_TASK_TRANSITIONS.items():
            for retries_left in (True, False):
                if origin != status:
                    continue
                _, after = lifecycle_lines(
                    LifecyclePosition(1, state),
                    from_status=status,
                    event=event,
                    to_status=target,
                    retries_left=retries_left,
                )
                if (target, after.state) not in found:
                    found.add((target, after.state))
                    fresh.append((target, after.state))
    return found


def _in_table_order(position: tuple[S, V]) -> tuple[int, int]:
    status, state = position
    return list(S).index(status), list(V).index(state)
