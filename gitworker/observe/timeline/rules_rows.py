"""The rows of a timeline: the runs of each worker, its waits, and its steps. Pure."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gitworker.model.run_outcome import RunOutcome
from gitworker.model.worker import WorkerEvent, WorkerState
from gitworker.states.worker_machine import state_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gitworker.model.tokens.prices import Cost

# The kinds of bars. A run has the kind of its outcome, a wait that of the worker's state.
AT_WORK, DONE, PARTLY, FAILED, STOPPED = "at_work", "done", "partly", "failed", "stopped"
REVIEW, LANDING = "in_review", "approved"
KINDS = {
    RunOutcome.HANDED_IN: DONE, RunOutcome.NOTHING: PARTLY, RunOutcome.SENT_BACK: PARTLY,
    RunOutcome.WAITING: PARTLY, RunOutcome.FAILED: FAILED, RunOutcome.TIMED_OUT: FAILED,
    RunOutcome.OUT_OF_BUDGET: FAILED, RunOutcome.UNRECORDED: FAILED,
}  # fmt: skip
WAITS = {WorkerState.IN_REVIEW: REVIEW, WorkerState.APPROVED: LANDING}
WAIT_WORDS = {REVIEW: "in review", LANDING: "approved, waits to land"}
# The kind of a mark and its words, by the event of the worker.
MARKS = {
    WorkerEvent.SUBMIT: ("handed_in", "handed in"),
    WorkerEvent.APPROVE: ("approved", "approved"),
    WorkerEvent.REQUEST_CHANGES: ("returned", "changes requested"),
    WorkerEvent.VERIFY_FAILED: ("returned", "verification failed"),
    WorkerEvent.MERGE_CONFLICT: ("returned", "conflict"),
    WorkerEvent.APPROVAL_WITHDRAWN: ("returned", "approval withdrawn"),
    WorkerEvent.MERGE: ("landed", "landed"),
    WorkerEvent.FAIL: ("failed", "failed"),
    WorkerEvent.STOP: ("failed", "stopped"),
    WorkerEvent.CANCEL: ("failed", "cancelled"),
}
UNDONE = "returned"
# The events with which an undo that brings a worker back begins, and the undo of an approval.
UNDO_BEGINS = frozenset({WorkerEvent.ASSIGN, WorkerEvent.APPROVAL_WITHDRAWN})
ROWS_AT_MOST = 60


class RunFacts(NamedTuple):
    """A run with its use; without an end it is open. `cost` is None if it is not known."""

    worker: str
    task: str | None
    agent: str
    start_ms: int
    end_ms: int | None
    outcome: str | None
    tokens: int
    cost: Cost | None = None


class Move(NamedTuple):
    """One transition of a worker; `is_undo`: an undo made it, and often others with it."""

    at_ms: int
    worker: str
    task: str | None
    from_state: WorkerState
    event: WorkerEvent
    to_state: WorkerState
    actor: str
    is_undo: bool = False


class Present(NamedTuple):
    """The present state of a worker, and since when."""

    state: WorkerState
    since_ms: int
    task: str | None


T = TypeVar("T", RunFacts, Move)
Step = tuple[Move, tuple[str, str] | None]  # with its mark's kind and words


class Bar(NamedTuple):
    """A run, or a wait for a review or a landing.

    `start_ms` is None if it began before the time that is shown, `end_ms` if it continues.
    """

    kind: str
    words: str
    task: str | None
    start_ms: int | None
    end_ms: int | None
    tokens: int = 0
    cost: Cost | None = None

    @property
    def is_run(self) -> bool:
        """Return whether it is a run of an agent."""
        return self.kind not in WAIT_WORDS


class Mark(NamedTuple):
    """A step of a worker: a hand-in, a verdict, a landing or an end."""

    kind: str
    words: str
    task: str | None
    at_ms: int
    actor: str


class Row(NamedTuple):
    """One worker: its runs, its waits and its steps, each in the order of time."""

    worker: str
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]


class Rows(NamedTuple):
    """The rows in the order of their beginnings; `left_out` older ones are missing."""

    rows: tuple[Row, ...]
    left_out: int


def make_rows(
    runs: Iterable[RunFacts], moves: Iterable[Move], present: Mapping[str, Present], *, since: int
) -> Rows:
    """Return the rows of the workers with a run, a wait or a step since a time."""
    runs_of = _by_worker(runs)
    moves_of = _by_worker(sorted(moves, key=attrgetter("at_ms")))
    names = [*dict.fromkeys((*runs_of, *moves_of, *present))]
    found = []
    for name in names:
        own = [_run_bar(one, since) for one in runs_of.get(name, ())]
        steps = _net(moves_of.get(name, ()))
        bars = [*own, *_waits(steps, present.get(name), since)]
        if bars or steps:
            bars.sort(key=lambda one: one.start_ms or 0)
            found.append(Row(name, tuple(bars), tuple(_marks(steps))))
    found = [row for row in found if row.bars or row.marks]
    found.sort(key=_newest, reverse=True)
    shown = sorted(found[:ROWS_AT_MOST], key=lambda row: (_oldest(row), row.worker))
    return Rows(tuple(shown), len(found) - len(shown))


def _by_worker(facts: Iterable[T]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for one in facts:
        found.setdefault(one.worker, []).append(one)
    return found


def _run_bar(run: RunFacts, since: int) -> Bar:
    ended = run.outcome or "ended"
    if run.end_ms is None:
        kind, ended = AT_WORK, "at work"
    else:
        kind = KINDS.get(RunOutcome(ended), STOPPED) if ended in {*RunOutcome} else STOPPED
    words = f"run of {run.agent}, {ended.replace('_', ' ')}"
    start = run.start_ms if run.start_ms >= since else None
    return Bar(kind, words, run.task, start, run.end_ms, run.tokens, run.cost)


def _net(moves: Iterable[Move]) -> list[Step]:
    """Return the steps with their marks; the transitions by which an undo brings work back are one.

    The time between them is no review and no wait.
    """
    steps: list[Step] = []
    for move in moves:
        last = steps[-1][0] if steps else None
        if last and last.is_undo and move.is_undo and move.event not in UNDO_BEGINS:
            steps.pop()
            move = move._replace(from_state=last.from_state)
        steps.append((move, _mark_of(move)))
    return steps


def _mark_of(move: Move) -> tuple[str, str] | None:
    if move.is_undo:
        return UNDONE, f"undone: {state_label(move.to_state)} again"
    return MARKS.get(move.event)


def _waits(steps: Iterable[Step], present: Present | None, since: int) -> Iterator[Bar]:
    began: int | None = None
    for step, _ in steps:
        kind = WAITS.get(step.from_state)
        if kind is not None:
            yield Bar(kind, WAIT_WORDS[kind], step.task, began, step.at_ms)
        began = step.at_ms
    if present is not None and (kind := WAITS.get(present.state)) is not None:
        if began is None and present.since_ms >= since:
            began = present.since_ms
        yield Bar(kind, WAIT_WORDS[kind], present.task, began, None)


def _marks(steps: Iterable[Step]) -> Iterator[Mark]:
    for step, mark in steps:
        if mark is not None:
            yield Mark(*mark, step.task, step.at_ms, step.actor)


def _newest(row: Row) -> tuple[bool, int]:
    """Return a key for which a row that continues is the newest."""
    ends = [one.end_ms for one in row.bars]
    times = [*(one for one in ends if one is not None), *(one.at_ms for one in row.marks)]
    return None in ends, max(times, default=0)


def _oldest(row: Row) -> int:
    starts = [one.start_ms or 0 for one in row.bars]
    return min([*starts, *(one.at_ms for one in row.marks)])
