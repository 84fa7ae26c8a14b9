"""The engine: one lookup, one refusal, and the rows for the database."""

import pickle
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from gitworker.errors import GitWorkerError, Refused
from gitworker.model.agent import AgentEvent, AgentState
from gitworker.model.task import TaskEvent, TaskStatus
from gitworker.model.worker import WorkerEvent, WorkerState
from gitworker.model.workstream import WorkstreamEvent, WorkstreamState
from gitworker.states.agent_machine import AGENT_MACHINE
from gitworker.states.comment_machine import CommentEvent, CommentState
from gitworker.states.engine import (
    InvalidTransition,
    Machine,
    legal_events,
    legal_pairs,
    legal_rows,
    next_state,
)
from gitworker.states.machines import MACHINES
from gitworker.states.task_machine import TASK_MACHINE
from tests.unit.states import tables

WORDS: dict[str, tuple[type[StrEnum], type[StrEnum]]] = {
    "worker": (WorkerState, WorkerEvent),
    "task": (TaskStatus, TaskEvent),
    "workstream": (WorkstreamState, WorkstreamEvent),
    "agent": (AgentState, AgentEvent),
    "comment": (CommentState, CommentEvent),
}
TABLES = {
    "worker": ("IDLE", tables.WORKER),
    "task": ("DEFINED", tables.TASK),
    "workstream": ("planned", tables.WORKSTREAM),
    "agent": ("INITIALIZING", tables.AGENT),
    "comment": ("draft", tables.COMMENT),
}


@pytest.mark.parametrize("name", TABLES)
def test_table_is_the_contract(name: str) -> None:
    """A machine has exactly the rows of the transcribed table."""
    initial, text = TABLES[name]
    assert MACHINES[name].initial == initial
    assert set(legal_rows(MACHINES[name])) == {(name, *row) for row in tables.rows(text)}


def test_there_are_five_machines() -> None:
    """Worker, task, workstream, agent and comment are the machines."""
    assert list(MACHINES) == ["worker", "task", "workstream", "agent", "comment"]


@pytest.mark.parametrize("name", TABLES)
def test_every_other_pair_is_refused(name: str) -> None:
    """A (state, event) without a row raises, whatever the machine."""
    machine = MACHINES[name]
    allowed = {(start, event): end for start, event, end in tables.rows(TABLES[name][1])}
    states, events = WORDS[name]
    for state in states:
        for event in events:
            if (state.value, event.value) in allowed:
                assert next_state(machine, state, event) == allowed[state.value, event.value]
            else:
                with pytest.raises(InvalidTransition):
                    next_state(machine, state, event)


def test_refusal_names_state_and_event() -> None:
    """The refusal has state and event, its documented text, and is a plain Refused."""
    with pytest.raises(InvalidTransition) as caught:
        next_state(TASK_MACHINE, TaskStatus.COMPLETED, TaskEvent.ASSIGNED)
    error = caught.value
    assert (error.state, error.event) == (TaskStatus.COMPLETED, TaskEvent.ASSIGNED)
    assert str(error) == error.message == "Invalid transition: (COMPLETED, ASSIGNED)"
    assert isinstance(error, Refused)
    assert isinstance(error, GitWorkerError)
    assert error.status == 1
    assert error.hint == (
        "events allowed in COMPLETED: ADMIN_RESTART; to see every state: git worker status"
    )


def test_refusal_in_a_final_state_says_so() -> None:
    """In a final state the hint says that the state is final."""
    with pytest.raises(InvalidTransition) as caught:
        next_state(AGENT_MACHINE, AgentState.SHUTDOWN, AgentEvent.RESET)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("SHUTDOWN is final; ")


def test_refusal_can_be_pickled() -> None:
    """A refusal can be passed to another process."""
    error = InvalidTransition(TaskStatus.READY, TaskEvent.RETRY, "try again")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.state, copy.event, copy.hint) == (error.state, error.event, error.hint)
    assert str(copy) == str(error)


def test_table_is_read_only() -> None:
    """A machine's table cannot be changed, not even through the dict it was made from."""
    source = {(TaskStatus.READY, TaskEvent.ASSIGNED): TaskStatus.ASSIGNED}
    machine = Machine("small", TaskStatus.READY, source)
    source.clear()
    assert legal_events(machine, TaskStatus.READY) == (TaskEvent.ASSIGNED,)
    with pytest.raises(TypeError):
        machine.table[TaskStatus.READY, TaskEvent.RETRY] = TaskStatus.READY  # type: ignore[index]


def test_legal_pairs_forget_the_event() -> None:
    """The pairs are the table's (from, to), each once."""
    pairs = {(start, end) for start, _, end in tables.rows(tables.TASK)}
    assert {(start.value, end.value) for start, end in legal_pairs(TASK_MACHINE)} == pairs


@given(data=st.data(), name=st.sampled_from(sorted(TABLES)))
def test_every_state_can_be_reached(data: st.DataObject, name: str) -> None:
    """From its initial state a machine can reach any of its states."""
    machine = MACHINES[name]
    wanted = data.draw(st.sampled_from(list(WORDS[name][0])))
    reached = {machine.initial}
    while wanted not in reached:
        grown = reached | {end for start, end in legal_pairs(machine) if start in reached}
        assert grown > reached
        reached = grown


class _Walk(RuleBasedStateMachine):
    """Walk a machine by any events; the model is the transcribed table."""

    name: str

    def __init__(self) -> None:
        super().__init__()
        self.machine: Machine[Any, Any] = MACHINES[self.name]
        initial, text = TABLES[self.name]
        self.model = {(start, event): end for start, event, end in tables.rows(text)}
        self.expected = initial
        self.state = self.machine.initial

    @rule(data=st.data())
    def fire(self, data: st.DataObject) -> None:
        """Fire any event: the machine moves as the model does, or both refuse."""
        event = data.draw(st.sampled_from(list(WORDS[self.name][1])))
        target = self.model.get((self.expected, event.value))
        if target is None:
            with pytest.raises(InvalidTransition):
                next_state(self.machine, self.state, event)
        else:
            self.state = next_state(self.machine, self.state, event)
            self.expected = target
        assert self.state.value == self.expected


class _WorkerWalk(_Walk):
    name = "worker"


class _TaskWalk(_Walk):
    name = "task"


class _WorkstreamWalk(_Walk):
    name = "workstream"


class _AgentWalk(_Walk):
    name = "agent"


TestWorkerWalk = _WorkerWalk.TestCase
TestTaskWalk = _TaskWalk.TestCase
TestWorkstreamWalk = _WorkstreamWalk.TestCase
TestAgentWalk = _AgentWalk.TestCase
