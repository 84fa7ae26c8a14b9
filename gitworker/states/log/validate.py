"""Validate a transition log: one pass, every rule of `log_rules`, memory per entity.

A line that breaks a rule still sets the entity's state, so that one fault is reported once and not
again for every later line.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from gitworker.model.worker import WorkerState
from gitworker.rules_text import one_line
from gitworker.states.log.log_event import EventType, Severity, severity_of
from gitworker.states.log.log_schema import LogFinding, LogLine, parse_entry
from gitworker.states.log.log_tables import LOG_TABLES
from gitworker.states.log.validate_groups import GroupRules
from gitworker.states.log.validate_tasks import TaskFacts, TaskRules
from gitworker.states.task_view import entity_id
from gitworker.states.worker_machine import STALE_GUARDS

__all__ = ["LogFinding", "iter_findings", "validate_log"]


def validate_log(lines: Iterable[str]) -> list[LogFinding]:
    """Return every broken rule, in the order of the lines; empty for a valid log."""
    return list(iter_findings(lines))


def iter_findings(lines: Iterable[str]) -> Iterator[LogFinding]:
    """Yield every broken rule as the lines are read; line numbers start at 1."""
    log = _Log()
    for number, text in enumerate(lines, start=1):
        entry = parse_entry(number, text)
        if isinstance(entry, LogLine):
            for rule, message in log.check(entry):
                yield LogFinding(number, rule, one_line(message))
        else:
            yield from entry


Fault = tuple[str, str]


@dataclass(slots=True)
class _Position:
    """The state of one entity, its incarnation, and the state before STALE."""

    state: str
    incarnation: int
    stale_from: str | None = None


class _Log:
    """The facts of the lines read so far."""

    def __init__(self) -> None:
        self.last: datetime | None = None
        self.positions: dict[tuple[EventType, str], _Position] = {}
        tasks: dict[str, TaskFacts] = {}
        self.tasks = TaskRules(tasks)
        self.groups = GroupRules(tasks)

    def check(self, entry: LogLine) -> Iterator[Fault]:
        """Yield the rules that the line breaks, then apply the line."""
        if self.last is not None and entry.at < self.last:
            yield "timestamp-order", "the timestamp is before that of an earlier line"
        self.last = entry.at if self.last is None else max(self.last, entry.at)
        base, incarnation = _split(entry)
        position = self.positions.get((entry.event_type, base))
        yield from _check_start(entry, position, incarnation)
        yield from _check_step(entry)
        yield from _check_guard(entry, position)
        if position is None or incarnation >= position.incarnation:
            self._apply(entry, base, incarnation)
        if entry.event_type == EventType.TASK:
            yield from self.tasks.check(entry, base)
            yield from self.groups.note_task(entry, base)
        elif entry.event_type == EventType.WORKSTREAM:
            yield from self.groups.check_workstream(entry)
        elif entry.event_type == EventType.AGENT:
            yield from self.groups.check_agent(entry)

    def _apply(self, entry: LogLine, base: str, incarnation: int) -> None:
        stale_from = entry.from_state if entry.to_state == WorkerState.STALE else None
        self.positions[entry.event_type, base] = _Position(entry.to_state, incarnation, stale_from)


def _split(entry: LogLine) -> tuple[str, int]:
    """Return task id and incarnation of a task line; the ids of other lines are not split."""
    base, _, suffix = entry.entity.rpartition("#")
    if entry.event_type == EventType.TASK and base and suffix.isdecimal() and len(suffix) < 10:
        number = int(suffix)
        if number > 1 and entity_id(base, number) == entry.entity:
            return base, number
    return entry.entity, 1


def _check_start(entry: LogLine, position: _Position | None, incarnation: int) -> Iterator[Fault]:
    table = LOG_TABLES[entry.event_type]
    present = position.incarnation if position else 0
    if position and incarnation == present:
        # An agent that has shut down may register again under its name.
        again = entry.event_type == EventType.AGENT and entry.from_state == table.initial
        if position.state in table.terminal and not again:
            yield "monotonic-progress", f"{entry.entity} has already ended as {position.state}"
        elif position.state not in table.terminal and position.state != entry.from_state:
            yield (
                "single-active-state",
                f"{entry.entity} was {position.state}, not {entry.from_state}",
            )
        return
    if incarnation < present:
        yield "monotonic-progress", f"{entry.entity} has already ended: #{present} has begun"
        return
    if incarnation > present + 1 or (position and position.state not in table.terminal):
        yield "incarnation-order", f"{entry.entity} begins before the last incarnation has ended"
    if entry.from_state != table.initial:
        yield "initial-state", f"{entry.entity} begins as {entry.from_state}, not {table.initial}"


def _check_step(entry: LogLine) -> Iterator[Fault]:
    triggers = LOG_TABLES[entry.event_type].steps.get((entry.from_state, entry.to_state))
    if triggers is None:
        yield "transition", f"{entry.from_state} → {entry.to_state} is not a step of its machine"
        return
    if entry.trigger not in triggers:
        named = " or ".join(sorted(triggers))
        yield (
            "trigger",
            f"{entry.from_state} → {entry.to_state} is triggered by {named}, not {entry.trigger}",
        )
    severity = severity_of(entry.event_type, entry.to_state, entry.trigger)
    if entry.severity != severity != Severity.INFO:
        yield "severity", f"the severity is {entry.severity}, not {severity}"


def _check_guard(entry: LogLine, position: _Position | None) -> Iterator[Fault]:
    if entry.event_type != EventType.SEAT or position is None or position.stale_from is None:
        return
    needed = {event.value: state.value for event, state in STALE_GUARDS.items()}.get(entry.trigger)
    if entry.from_state == WorkerState.STALE and needed not in (None, position.stale_from):
        yield (
            "guard",
            f"{entry.trigger} is not allowed: the worker became stale in {position.stale_from}",
        )
