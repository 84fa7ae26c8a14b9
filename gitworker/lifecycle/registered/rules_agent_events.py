"""The events of an agent's machine that bring its state in line with its workers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from gitworker.model.agent import AgentEvent as E
from gitworker.model.agent import AgentState as S
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState

PAUSES = frozenset({TaskStatus.PAUSED, TaskStatus.WAITING_INPUT})
RANKS = (S.BUSY, S.STARTING, S.PAUSED, S.UNRESPONSIVE)  # of several slots the first one counts
ASSIGNED = (E.TASK_ASSIGNED, E.AGENT_STARTED)
FROM_IDLE: Mapping[S, tuple[E, ...]] = MappingProxyType(
    {
        S.IDLE: (),
        S.STARTING: (E.TASK_ASSIGNED,),
        S.BUSY: ASSIGNED,
        S.PAUSED: (*ASSIGNED, E.TOKENS_EXHAUSTED),
        S.UNRESPONSIVE: (*ASSIGNED, E.HEALTH_CHECK_TIMEOUT),
    }
)
TO_IDLE: Mapping[S, tuple[E, ...]] = MappingProxyType(
    {
        S.INITIALIZING: (E.REGISTRATION_COMPLETE,),
        S.IDLE: (),
        S.STARTING: (E.LAUNCH_FAILED, E.RESET),  # its task was taken away before it began
        S.BUSY: (E.TASK_COMPLETED,),
        S.PAUSED: (E.TASK_RELEASED,),
        S.UNRESPONSIVE: (E.HEALTH_CHECK_RECOVERED,),
        S.ERROR: (E.RESET,),
    }
)
DIRECT: Mapping[tuple[S, S], E] = MappingProxyType(
    {
        (S.STARTING, S.BUSY): E.AGENT_STARTED,
        (S.STARTING, S.ERROR): E.LAUNCH_FAILED,
        (S.BUSY, S.PAUSED): E.TOKENS_EXHAUSTED,
        (S.BUSY, S.UNRESPONSIVE): E.HEALTH_CHECK_TIMEOUT,
        (S.BUSY, S.ERROR): E.UNRECOVERABLE_ERROR,
        (S.PAUSED, S.BUSY): E.RESUME,
        (S.UNRESPONSIVE, S.BUSY): E.HEALTH_CHECK_RESUMED,
        (S.UNRESPONSIVE, S.SHUTDOWN): E.MAX_TIMEOUT_EXCEEDED,
    }
)


class SlotFacts(NamedTuple):
    """A worker of an agent; `status` is that of the task that it holds."""

    worker: str
    state: WorkerState
    stale_from: WorkerState | None = None
    waits_for_author: bool = False
    task: str | None = None
    status: TaskStatus | None = None


class Condition(NamedTuple):
    """The state that the workers of an agent imply, the task that decides, the tasks at work."""

    state: S
    task: str | None = None
    number: int = 0


def condition_of(slots: Sequence[SlotFacts]) -> Condition:
    """Return the condition of an agent with these workers; IDLE if none of them is at work."""
    found = [(state, slot) for slot in slots if (state := _slot_state(slot)) is not None]
    if not found:
        return Condition(S.IDLE)
    state, slot = min(found, key=lambda one: RANKS.index(one[0]))
    return Condition(state, slot.task, len(found))


def events_to(
    state: S,
    wanted: S,
    *,
    has_task: bool,
    is_paused: bool = False,
    is_leaving: bool = False,
    ending: S | None = None,
) -> tuple[E, ...]:
    """Return the events from a state to the one that the workers imply.

    `has_task` is true if the agent has a task in its present state. `ending` is the state of an
    agent that cannot continue, once none of its workers is at work. An agent that a person has
    paused or removed follows this once it is idle. An agent with an error stays so until it is
    reset, or until it is at work again. SHUTDOWN is final.
    """
    if ending is not None and wanted is S.IDLE and (state, ending) in DIRECT:
        return (DIRECT[state, ending],)
    if state is S.SHUTDOWN or (state is S.ERROR and wanted is S.IDLE and not is_leaving):
        return ()
    if (state, wanted) in DIRECT and (state is not S.PAUSED or has_task):
        return (DIRECT[state, wanted],)
    if state is wanted and wanted is not S.IDLE and has_task:
        return ()
    rests = wanted is S.IDLE
    if rests and is_leaving:
        end = (E.SHUTDOWN_REQUESTED,)
        return end if state in (S.IDLE, S.PAUSED, S.ERROR) else (*_to_idle(state, has_task), *end)
    if rests and is_paused:
        is_so = state is S.PAUSED and not has_task
        return () if is_so else (*_to_idle(state, has_task), E.PAUSE)
    return (*_to_idle(state, has_task), *FROM_IDLE[wanted])


def resets(state: str, *, is_paused: bool, is_leaving: bool) -> bool:
    """Return whether a person who resumes an agent resets its error."""
    return state == S.ERROR and not is_paused and not is_leaving


def _to_idle(state: S, has_task: bool) -> tuple[E, ...]:
    return (E.UNPAUSE,) if state is S.PAUSED and not has_task else TO_IDLE[state]


def _slot_state(slot: SlotFacts) -> S | None:
    """Return the state of an agent that this worker alone implies; None if it is not at work."""
    if slot.state is WorkerState.ASSIGNED:
        return S.STARTING
    if slot.state is WorkerState.STALE:
        return S.UNRESPONSIVE if slot.stale_from is WorkerState.WORKING else None
    if slot.state is not WorkerState.WORKING or slot.waits_for_author:
        return None
    return S.PAUSED if slot.status in PAUSES else S.BUSY
