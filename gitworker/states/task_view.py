"""The lifecycle view: a task's moves, told in seed 3's eight states for the log.

The view keeps seed 3's promise that a terminal state is never left: a move that its table does
not have ends this incarnation of the task legally and opens the next one, `<task>#<n+1>`. The
view is a position of its own (`View`), stored with the task, because the status alone does not
tell it: after VERIFY_FAILED the task is FAILED and may be retried, but its view has ended.
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
        # beyond seed 3: whatever has not ended can be cancelled
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

# An administrator's skip completes a task by decree. Dependents need a completed task in the log,
# so the new incarnation walks the whole way, saying at each step what was waived.
SKIP_WALK = (V.PENDING, V.QUEUED, V.RUNNING, V.VALIDATING, V.COMPLETED)

# A task leaves DEFINED without its dependencies only by a restart, from there or after a cancel;
# in every other status they were met, or waived, before.
DEPENDENCIES_UNCHECKED = frozenset({S.DEFINED, S.CANCELLED})


class View(NamedTuple):
    """Where a task stands in the lifecycle view; a new task is at `View()`."""

    incarnation: int = 1
    state: V = V.PENDING


class Line(NamedTuple):
    """One line for the log; `metadata` holds what the view itself has to say."""

    incarnation: int
    from_state: V
    to_state: V
    metadata: Mapping[str, object] = MappingProxyType({})

    @property
    def trigger(self) -> str:
        """The trigger's name, which the pair determines."""
        return TRIGGERS[self.from_state, self.to_state]


Told = tuple[tuple[Line, ...], View]


def lifecycle_lines(
    view: View, *, from_status: S, event: E, to_status: S, retries_left: bool
) -> Told:
    """Return the lines that one step of the task writes, and where the view stands afterwards.

    The step must be a legal one. `retries_left` counts for AGENT_FAILED only: without a retry
    left nothing is written until MAX_RETRIES (or another event) tells how it ends.
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
    """Return the name an incarnation has in the log: `task`, then `task#2`, `task#3`…"""
    return task_id if incarnation == 1 else f"{task_id}#{incarnation}"


class Row(NamedTuple):
    """One row of the printed table: a legal step from one position, and what it writes."""

    from_status: S
    event: E
    to_status: S
    before: V
    retries_left: bool
    lines: tuple[Line, ...]
    after: View


def lifecycle_rows() -> Iterator[Row]:
    """Yield what every legal step writes, from every view state its status can have.

    Incarnations are relative: each row starts in the first.
    """
    for status, before in sorted(_positions(), key=_in_table_order):
        for (origin, event), target in VALID_TASK_TRANSITIONS.items():
            if origin != status:
                continue
            for retries_left in (True, False) if event == E.AGENT_FAILED else (True,):
                lines, after = lifecycle_lines(
                    View(1, before),
                    from_status=status,
                    event=event,
                    to_status=target,
                    retries_left=retries_left,
                )
                yield Row(status, event, target, before, retries_left, lines, after)


def _target(view: View, *, event: E, to_status: S, retries_left: bool) -> V:
    if event == E.VERIFY_FAILED:
        return V.FAILED  # seed 3 has no way from validating to retrying
    if event == E.AGENT_FAILED and not retries_left:
        return view.state
    return VIEW_OF[to_status]


def _notes(from_status: S, event: E) -> dict[str, object]:
    if event == E.ADMIN_RESTART and from_status in DEPENDENCIES_UNCHECKED:
        return {"waived": "dependencies"}
    return {}


def _walk(incarnation: int, path: tuple[V, ...], notes: Mapping[str, object]) -> Told:
    lines = tuple(
        Line(incarnation, start, end, notes) for start, end in zip(path, path[1:], strict=False)
    )
    return lines, View(incarnation, path[-1])


def _close(view: View, from_status: S, notes: Mapping[str, object] | None = None) -> Told:
    """End this incarnation by the terminal state that is legal and true; an ended one stays."""
    if view.state in TERMINAL:
        return (), view
    failed = view.state == V.VALIDATING or (view.state == V.RUNNING and from_status == S.FAILED)
    return _walk(view.incarnation, (view.state, V.FAILED if failed else V.CANCELLED), notes or {})


def _reopen(view: View, from_status: S, path: tuple[V, ...], notes: Mapping[str, object]) -> Told:
    following = view.incarnation + 1
    closing, _ = _close(view, from_status, {"next_incarnation": following})
    opening, after = _walk(following, path, notes)
    return closing + opening, after


def _skip(view: View, from_status: S) -> Told:
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
                    View(1, state),
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
