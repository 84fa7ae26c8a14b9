"""The columns of the board: what each worker needs next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.observe.workers.rules_worker import is_late_review, is_old

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gitworker.observe.queue.worker_facts import CardFacts
    from gitworker.observe.workers.status import WorkerLine

NEEDS, WORKING, REVIEW, LANDING, DONE = "needs", "working", "review", "landing", "done"
TITLES = {
    NEEDS: "needs you", WORKING: "working", REVIEW: "in review", LANDING: "landing", DONE: "done",
}  # fmt: skip
COLUMNS = {
    WorkerState.FAILED: NEEDS, WorkerState.STALE: NEEDS, WorkerState.ASSIGNED: WORKING,
    WorkerState.WORKING: WORKING, WorkerState.IN_REVIEW: REVIEW, WorkerState.APPROVED: LANDING,
    WorkerState.COMPLETED: DONE, WorkerState.IDLE: DONE,
}  # fmt: skip
WAITING_TASKS = frozenset({TaskStatus.WAITING_INPUT, TaskStatus.BLOCKED, TaskStatus.FAILED})
FILTERS = ("project", "workstream", "agent")


class Card(NamedTuple):
    """One worker on the board; `others` are the workers of its conflicts."""

    line: WorkerLine
    facts: CardFacts
    others: tuple[str, ...]


class Column(NamedTuple):
    """The workers that need the same, those that have waited longest first."""

    key: str
    title: str
    cards: tuple[Card, ...]


def column_of(line: WorkerLine) -> str:
    """Return the column of a worker: a person is needed if it does not continue by itself."""
    column = COLUMNS[line.state]
    stops = line.trouble is not None or line.task_status in WAITING_TASKS
    if column == WORKING and (stops or line.agent_ended or _waits_for_author(line)):
        return NEEDS
    return NEEDS if line.trouble is not None else column


def columns(cards: Iterable[Card], *, now_ms: int, every: bool) -> list[Column]:
    """Return the columns in their order; without `every`, old landings are left out."""
    found: dict[str, list[Card]] = {key: [] for key in TITLES}
    for card in cards:
        line = card.line
        is_shown = every or line.trouble or not is_old(line.state, age_ms=now_ms - line.since_ms)
        if is_shown:
            found[column_of(line)].append(card)
    for key, column in found.items():
        column.sort(key=lambda card: (card.line.since_ms, card.line.worker), reverse=key == DONE)
    return [Column(key, TITLES[key], tuple(column)) for key, column in found.items()]


def next_review(lines: Iterable[WorkerLine], worker: str) -> str | None:
    """Return the worker that a reviewer reads after this one, or None.

    Those that have waited longest come first. After the last one, the first one follows.
    """
    order = sorted(
        (one.since_ms, one.worker)
        for one in lines
        if column_of(one) == REVIEW or is_late_review(one.state, one.task_status)
    )
    names = [name for _, name in order]
    if worker in names:
        at = names.index(worker)
        names = names[at + 1 :] + names[:at]
    return names[0] if names else None


def is_chosen(facts: CardFacts, wanted: Mapping[str, str]) -> bool:
    """Return whether a worker passes the filters; an empty one accepts every value."""
    return all(not text or getattr(facts, name) == text for name, text in wanted.items())


def choices(facts: Iterable[CardFacts]) -> dict[str, list[str]]:
    """Return the values that each filter can have."""
    known = list(facts)
    return {
        name: sorted({value for one in known if (value := getattr(one, name))}) for name in FILTERS
    }


def _waits_for_author(line: WorkerLine) -> bool:
    return line.returned is not None and line.returned.is_waiting
