"""The events that bring an agent's state in line with its workers."""

from itertools import product

import pytest

from gitworker.lifecycle.registered.rules_agent_events import (
    Condition,
    SlotFacts,
    condition_of,
    events_to,
    resets,
)
from gitworker.model.agent import AgentEvent as E
from gitworker.model.agent import AgentState as S
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState as W
from gitworker.states.agent_machine import agent_transition, guard_allows

SLOTS = {
    "assigned": SlotFacts("a-1", W.ASSIGNED, task="t1"),
    "working": SlotFacts("a-2", W.WORKING, task="t2", status=TaskStatus.IN_PROGRESS),
    "paused": SlotFacts("a-3", W.WORKING, task="t3", status=TaskStatus.PAUSED),
    "stale": SlotFacts("a-4", W.STALE, W.WORKING, task="t4"),
    "in review": SlotFacts("a-5", W.STALE, W.IN_REVIEW, task="t5"),
    "returned": SlotFacts("a-6", W.WORKING, waits_for_author=True, task="t6"),
    "idle": SlotFacts("a-7", W.IDLE),
}
WANTED = (S.IDLE, S.STARTING, S.BUSY, S.PAUSED, S.UNRESPONSIVE)


@pytest.mark.parametrize(
    ("names", "condition"),
    [
        ((), Condition(S.IDLE)),
        (("idle", "in review", "returned"), Condition(S.IDLE)),
        (("assigned", "idle"), Condition(S.STARTING, "t1", 1)),
        (("paused", "stale"), Condition(S.PAUSED, "t3", 2)),
        (("stale", "idle"), Condition(S.UNRESPONSIVE, "t4", 1)),
        (("assigned", "paused", "working"), Condition(S.BUSY, "t2", 3)),
    ],
)
def test_workers_imply_a_state(names: tuple[str, ...], condition: Condition) -> None:
    """An agent is busy if one of its workers is, and idle if none of them is at work."""
    assert condition_of([SLOTS[name] for name in names]) == condition


@pytest.mark.parametrize(("state", "wanted"), list(product(S, WANTED)))
@pytest.mark.parametrize("has_task", [False, True])
def test_every_step_is_legal(state: S, wanted: S, has_task: bool) -> None:
    """The events lead from each state to the wanted one by rows of the machine."""
    if state in (S.IDLE, S.INITIALIZING, S.ERROR) and has_task:
        return
    for paused, leaving in ((False, False), (True, False), (False, True)):
        events = events_to(state, wanted, has_task=has_task, is_paused=paused, is_leaving=leaving)
        end = state
        for event in events:
            end = agent_transition(end, event)
        if state is S.SHUTDOWN or (state is S.ERROR and wanted is S.IDLE and not leaving):
            assert events == ()
        elif wanted is S.IDLE and leaving:
            assert end is S.SHUTDOWN
        elif wanted is S.IDLE and paused:
            assert end is S.PAUSED
        else:
            assert end is wanted
        if events and state is S.PAUSED:
            assert guard_allows(events[0], has_task=has_task) or events[0] is E.SHUTDOWN_REQUESTED


@pytest.mark.parametrize(
    ("state", "ending", "event"),
    [
        (S.STARTING, S.ERROR, E.LAUNCH_FAILED),
        (S.BUSY, S.ERROR, E.UNRECOVERABLE_ERROR),
        (S.UNRESPONSIVE, S.SHUTDOWN, E.MAX_TIMEOUT_EXCEEDED),
    ],
)
def test_an_agent_that_cannot_continue(state: S, ending: S, event: E) -> None:
    """A failed launch and a refusal of access are errors; silence shuts an agent down."""
    assert events_to(state, S.IDLE, has_task=True, ending=ending) == (event,)
    assert events_to(state, S.BUSY, has_task=True, ending=ending) != (event,)


def test_a_resume_resets_an_error() -> None:
    """Only a resumed agent with an error is reset."""
    assert resets("ERROR", is_paused=False, is_leaving=False)
    assert not resets("ERROR", is_paused=True, is_leaving=False)
    assert not resets("IDLE", is_paused=False, is_leaving=False)
