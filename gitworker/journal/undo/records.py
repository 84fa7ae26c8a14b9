"""The record of what can be taken back: every destructive act, a landed window as one.

A landing's own removals are part of it: `undo` alone takes them back together, while the number of
a removal brings only that worktree back.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from gitworker.errors import GitWorkerError, NotFound
from gitworker.journal.operation_kinds import UNDOABLE, require_undoable
from gitworker.journal.undo.restore import seat_refusal
from gitworker.journal.undo.rules_undo import later_refusal
from gitworker.journal.undo.undo_window import Window, read_window
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.operations import (
    LAST,
    Operation,
    find_last_operation,
    find_operation,
    first_of_window,
    later_acts,
    undoable_operations,
)
from gitworker.store.payloads.payload import GcData, rescue_of
from gitworker.store.workers import find_worker

PAGE = 50
DONE, UNDONE = "done", "undone"


@dataclass(frozen=True, slots=True)
class Record:
    """One entry: `acts` are the journal's rows, several for a window of landings."""

    acts: tuple[Operation, ...]

    @property
    def number(self) -> int:
        """Return what `undo N` calls it."""
        return self.acts[0].id

    @property
    def kind(self) -> str:
        """Return what was done."""
        return self.acts[0].kind

    @property
    def actor(self) -> str:
        """Return who did it."""
        return self.acts[0].actor

    @property
    def at_ms(self) -> int:
        """Return when it was done, epoch milliseconds."""
        return self.acts[-1].updated_at_ms

    @property
    def workers(self) -> tuple[str, ...]:
        """Return the workers that it was done to; those of a window that landed and stand."""
        return tuple(act.worker_id for act in self.acts if self.kind != "gc" and _stands(act))

    @property
    def rescue(self) -> str | None:
        """Return the ref that keeps what was replaced, the first of several."""
        return next(filter(None, (rescue_of(act.data)[0] for act in self.acts)), None)

    @property
    def window(self) -> Window:
        """Return a landing's acts as a window."""
        return Window(self.acts)


@dataclass(frozen=True, slots=True)
class Listed:
    """A record, and why it cannot be taken back now; None where it can."""

    record: Record
    refusal: GitWorkerError | None


def newest_record(session: Session) -> Record | None:
    """Return what `undo` alone takes back, or None: the newest thing that somebody asked for."""
    with session.store.read() as reader:
        for record in _records(reader):
            if not _is_passed_by(reader, record):
                return record
    return None


def find_record(session: Session, number: int) -> Record:
    """Return the record of that number, any number of a window meaning all of it.

    Raises NotFound where there is none, or it was undone already.
    """
    with session.store.read() as reader:
        act = find_operation(reader, number)
        if act is not None and act.kind in UNDOABLE and _stands(act):
            return _whole(reader, act)
    why = "was undone already" if act is not None and act.status == UNDONE else "is no such act"
    raise NotFound(f"there is nothing to undo under {number}: it {why}", "git worker undo --list")


def list_records(session: Session, *, limit: int) -> list[Listed]:
    """Return the newest records, newest first, each with why it cannot be taken back now."""
    with session.store.read() as reader:
        records = list(islice(_records(reader), limit))
    return [Listed(record, find_refusal(session, record)) for record in records]


def find_refusal(session: Session, record: Record) -> GitWorkerError | None:
    """Return why a record cannot be taken back now, as far as a look without locks tells."""
    later = refuse_later(session, record)
    if later is not None:
        return later
    try:
        require_undoable(session, record.acts[0])
    except GitWorkerError as error:
        return error
    return None


def refuse_later(session: Session, record: Record) -> GitWorkerError | None:
    """Return what has to be undone first: later acts on the same work, its own removals aside.

    A landing stands for the removal that followed it.
    """
    own = ("merge", "remove") if record.kind == "merge" else ()
    with session.store.read() as reader:
        for act in record.acts:
            later = [one for one in later_acts(reader, act) if one.kind not in own]
            if later:
                first = next((one for one in later if one.kind != "remove"), later[0])
                number = first_of_window(first)
                return later_refusal(record.kind, (number, first.kind))
    return None


def _records(reader: Reader) -> Iterator[Record]:
    """Yield every record that stands, newest first."""
    before = LAST
    told: set[int] = set()
    while True:
        acts = undoable_operations(reader, PAGE, before=before)
        for act in acts:
            if act.kind == "adopt" and _has_gone_on(reader, act):
                continue
            record = _whole(reader, act)
            if record.number not in told:
                told.add(record.number)
                yield record
        if len(acts) < PAGE:
            return
        before = acts[-1].id


def _whole(reader: Reader, act: Operation) -> Record:
    return Record(read_window(reader, act).acts if act.kind == "merge" else (act,))


def _is_passed_by(reader: Reader, record: Record) -> bool:
    """Tell whether only `undo N` means a record: a landing's removal, a gc of nothing or by itself.

    Else the gc of last night, or one that let go of a log, would stand before what was done last.
    """
    act = record.acts[0]
    if record.kind == "gc":
        data = act.payload(GcData)
        return not data.refs or data.by_itself
    return record.kind == "remove" and _has_landing(reader, act)


def _has_gone_on(reader: Reader, adoption: Operation) -> bool:
    """Tell whether what was adopted has become its worker's own work, as it was meant to."""
    worker = find_worker(reader, adoption.worker_id)
    return worker is None or seat_refusal(worker, adoption) is not None


def _has_landing(reader: Reader, removal: Operation) -> bool:
    """Tell whether a removal followed a landing that stands."""
    landing = find_last_operation(reader, "merge", worker=removal.worker_id, task=removal.task_id)
    return landing is not None and _stands(landing)


def _stands(act: Operation) -> bool:
    return act.status == DONE
