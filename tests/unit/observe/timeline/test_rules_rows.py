"""The rows of a timeline: runs, waits and steps."""

from collections.abc import Sequence

from gitworker.model.worker import WorkerEvent as E
from gitworker.model.worker import WorkerState as S
from gitworker.observe.timeline.rules_rows import (
    ROWS_AT_MOST,
    Move,
    Present,
    Row,
    RunFacts,
    make_rows,
)
from gitworker.states.worker_machine import WORKER_MACHINE

SINCE = 1000


def run(worker: str, start: int, end: int | None, outcome: str | None = None) -> RunFacts:
    """Return a run without tokens."""
    return RunFacts(worker, "t", "claude", start, end, outcome, 0)


def move(at_ms: int, event: E, states: tuple[S, S], worker: str = "auth") -> Move:
    """Return a step of a worker by `hq`."""
    return Move(at_ms, worker, "t", states[0], event, states[1], "hq")


def only(runs: Sequence[RunFacts], moves: Sequence[Move], present: Present | None) -> Row:
    """Return the row of the only worker."""
    (row,) = make_rows(runs, moves, {"auth": present} if present else {}, since=SINCE).rows
    return row


def test_a_run_has_the_kind_of_its_outcome() -> None:
    """A run is at work, done, failed or stopped; an early beginning is before the time."""
    row = only(
        [
            run("auth", 10, 1100, "failed"), run("auth", 1200, 1300, "handed_in"),
            run("auth", 1400, 1500, "taken_away"), run("auth", 1510, 1520, "nothing_handed_in"),
            run("auth", 1530, 1540, "a new word"), run("auth", 1600, None),
        ],
        [], None,
    )  # fmt: skip
    assert [one.kind for one in row.bars] == [
        "failed", "done", "stopped", "partly", "stopped", "at_work"
    ]  # fmt: skip
    assert (row.bars[0].start_ms, row.bars[0].end_ms) == (None, 1100)
    assert row.bars[0].words == "run of claude, failed"
    assert row.bars[-1].words == "run of claude, at work"
    assert row.bars[-1].end_ms is None


def test_waits_and_steps() -> None:
    """A hand-in begins a review, an approval a wait to land, and each step has a mark."""
    row = only(
        [],
        [
            move(1300, E.APPROVE, (S.IN_REVIEW, S.APPROVED)),
            move(1100, E.SUBMIT, (S.WORKING, S.IN_REVIEW)),
            move(1400, E.MERGE, (S.APPROVED, S.COMPLETED)),
            move(1500, E.RECYCLE, (S.COMPLETED, S.IDLE)),
        ],
        Present(S.IDLE, 1500, None),
    )
    assert [(one.kind, one.start_ms, one.end_ms) for one in row.bars] == [
        ("in_review", 1100, 1300), ("approved", 1300, 1400)
    ]  # fmt: skip
    assert [(one.words, one.at_ms) for one in row.marks] == [
        ("handed in", 1100), ("approved", 1300), ("landed", 1400)
    ]  # fmt: skip


def test_a_wait_that_began_before() -> None:
    """A worker that was in review before the time waits from its beginning on."""
    row = only([], [], Present(S.IN_REVIEW, 7, "t"))
    assert [(one.start_ms, one.end_ms, one.task) for one in row.bars] == [(None, None, "t")]
    row = only([], [], Present(S.APPROVED, 1500, "t"))
    assert row.bars[0].start_ms == 1500
    row = only([], [move(1200, E.APPROVE, (S.IN_REVIEW, S.APPROVED))], None)
    assert (row.bars[0].kind, row.bars[0].start_ms, row.bars[0].end_ms) == ("in_review", None, 1200)


def test_an_undone_landing_is_one_step() -> None:
    """The transitions by which an undo brings a worker back have one mark and no waits."""
    undone = [
        move(1201, E.ASSIGN, (S.IDLE, S.ASSIGNED)), move(1201, E.START, (S.ASSIGNED, S.WORKING)),
        move(1202, E.SUBMIT, (S.WORKING, S.IN_REVIEW)),
        move(1203, E.APPROVE, (S.IN_REVIEW, S.APPROVED)),
        move(1300, E.APPROVAL_WITHDRAWN, (S.APPROVED, S.IN_REVIEW)),
    ]  # fmt: skip
    row = only(
        [],
        [
            move(1200, E.RECYCLE, (S.COMPLETED, S.IDLE)),
            *(one._replace(is_undo=True) for one in undone),
        ],
        Present(S.IN_REVIEW, 1300, "t"),
    )
    assert [(one.kind, one.words) for one in row.marks] == [
        ("returned", "undone: approved again"), ("returned", "undone: in review again")
    ]  # fmt: skip
    assert [(one.kind, one.start_ms, one.end_ms) for one in row.bars] == [
        ("approved", 1203, 1300), ("in_review", 1300, None)
    ]  # fmt: skip


def test_a_worker_without_anything_has_no_row() -> None:
    """A worker whose steps have no mark, and one that has no task, are left out."""
    moves = [move(1200, E.ASSIGN, (S.IDLE, S.ASSIGNED))]
    assert not make_rows([], moves, {"menu": Present(S.IDLE, 5, None)}, since=SINCE).rows


def test_the_oldest_rows_are_left_out() -> None:
    """The rows with the newest steps are shown, in the order of their beginnings."""
    many = [run(f"w{at}", 2000 + at, 2001 + at, "failed") for at in range(ROWS_AT_MOST)]
    found = make_rows([run("open", 1500, None), *many], [], {}, since=SINCE)
    assert (found.rows[0].worker, found.rows[1].worker, found.left_out) == ("open", "w1", 1)


def test_every_event_of_a_wait_is_known() -> None:
    """Each event that ends a review or an approval has a mark, except those of time."""
    ends = {
        event
        for (state, event) in WORKER_MACHINE.table
        if state in (S.IN_REVIEW, S.APPROVED) and event is not E.REVIEW_TIMEOUT
    }
    moves = [move(1000 + at, one, (S.IN_REVIEW, S.IDLE)) for at, one in enumerate(sorted(ends))]
    assert len(only([], moves, None).marks) == len(ends)
