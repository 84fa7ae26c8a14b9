"""The machines in the spelling of the log: the transitions that a line may record.

Tasks have the states of the lifecycle view; agents have lower-case states, as the format requires.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gitworker.model.task import LifecycleState
from gitworker.states.agent_machine import AGENT_MACHINE
from gitworker.states.engine import Machine
from gitworker.states.log.log_event import EventType
from gitworker.states.task_view import TRIGGERS
from gitworker.states.worker_machine import WORKER_MACHINE
from gitworker.states.workstream_machine import WORKSTREAM_MACHINE

Step = tuple[str, str]


@dataclass(frozen=True, slots=True)
class LogTable:
    """The legal lines of one kind of entity: its first state, and (from, to) -> triggers."""

    initial: str
    steps: Mapping[Step, frozenset[str]]
    terminal: frozenset[str]


def _from_machine(machine: Machine[Any, Any], *, lower: bool = False) -> LogTable:
    steps: dict[Step, set[str]] = {}
    for (origin, event), target in machine.table.items():
        step = (origin.value, target.value)
        steps.setdefault((step[0].lower(), step[1].lower()) if lower else step, set()).add(
            event.value
        )
    initial = machine.initial.value
    return _log_table(initial.lower() if lower else initial, steps)


def _from_lifecycle() -> LogTable:
    steps = {(start.value, end.value): {trigger} for (start, end), trigger in TRIGGERS.items()}
    return _log_table(LifecycleState.PENDING.value, steps)


def _from_agents() -> LogTable:
    table = _from_machine(AGENT_MACHINE, lower=True)
    # other programs' agents have no `starting`; their logs must be valid too
    steps = {step: set(triggers) for step, triggers in table.steps.items()}
    steps["idle", "busy"] = {"task_assigned"}
    return _log_table(table.initial, steps)


def _log_table(initial: str, steps: Mapping[Step, set[str]]) -> LogTable:
    left = {start for start, _ in steps}
    return LogTable(
        initial,
        MappingProxyType({step: frozenset(triggers) for step, triggers in steps.items()}),
        frozenset(end for _, end in steps if end not in left),
    )


LOG_TABLES: Mapping[EventType, LogTable] = MappingProxyType(
    {
        EventType.TASK: _from_lifecycle(),
        EventType.WORKSTREAM: _from_machine(WORKSTREAM_MACHINE),
        EventType.AGENT: _from_agents(),
        EventType.SEAT: _from_machine(WORKER_MACHINE),
    }
)
