"""The records that `undo` lists: each destructive operation, with a landed window as one record.

The removals after a landing are a part of it: `undo` reverts them together, while `undo N` with the
number of a removal restores only that worktree.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from gitworker.errors import GitWorkerError, NotFound
from gitworker.journal.operation_kinds import REWRITING, UNDOABLE, undoable
from gitworker.journal.undo.rules_undo import later_refusal
from gitworker.model.ids import WORKSTREAM
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.operations import (
    LAST,
    Operation,
    find_operation,
    first_of_window,
    operations_on,
    undoable_operations,
)
from gitworker.store.payloads.payload import rescue_of

PAGE = 50
DONE, UNDONE = "done", "undone"


@dataclass(frozen=True, slots=True)
class Record:
    """One entry with its operations: several for a window of landings."""

    operations: tuple[Operation, ...]

    @property
    def number(self) -> int:
        """Return the number for `undo N`."""
        return self.operations[0].id

    @property
    def kind(self) -> str:
        """Return the kind of the operation."""
        return self.operations[0].kind

    @property
    def actor(self) -> str:
        """Return the actor of the operation."""
        return self.operations[0].actor

    @property
    def at_ms(self) -> int:
        """Return the time of the operation, epoch milliseconds."""
        return self.operations[-1].updated_at_ms

    @property
    def workers(self) -> tuple[str, ...]:
        """Return the workers of the operation; of a window, those whose landing was not undone.

        The landing of a workstream has its branch instead.
        """
        return tuple(
            f"{WORKSTREAM}/{one.task_id}" if one.worker_id == WORKSTREAM else one.worker_id
            for one in self.operations
            if one.task_id and _is_done(one)
        )

    @property
    def rescue(self) -> str | None:
        """Return the ref that keeps the replaced commits, the first of several."""
        return next(
            filter(None, (rescue_of(operation.data)[0] for operation in self.operations)), None
        )


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """A record, and the reason why it cannot be undone now, or None.

    `needs_number`: only `undo N` reverts it, as it does the removal of a worktree after a landing.
    """

    record: Record
    refusal: GitWorkerError | None
    needs_number: bool = False


def newest_records(session: Session, *, limit: int) -> list[Record]:
    """Return the newest records that a user made, which `undo` without a number tries in turn."""
    with session.store.read() as reader:
        made = (one for one in _records(reader) if not _needs_number(reader, one))
        return list(islice(made, limit))


def find_record(session: Session, number: int) -> Record:
    """Return the record with this number; any number of a window means the whole window.

    Raises NotFound if it does not exist, or was undone already.
    """
    with session.store.read() as reader:
        operation = find_operation(reader, number)
        if operation is not None and operation.kind in UNDOABLE and _is_done(operation):
            return read_record(reader, operation)
    undone = operation is not None and operation.status == UNDONE
    why = "it was undone already" if undone else "there is no such operation to undo"
    raise NotFound(f"operation {number} cannot be undone: {why}", "git worker undo --list")


def list_records(session: Session, *, limit: int) -> list[ListedRecord]:
    """Return the newest records, newest first, each with the reason why it cannot be undone now."""
    with session.store.read() as reader:
        records = [(one, _needs_number(reader, one)) for one in islice(_records(reader), limit)]
    return [
        ListedRecord(record, find_refusal(session, record), needs_number)
        for record, needs_number in records
    ]


def find_refusal(session: Session, record: Record) -> GitWorkerError | None:
    """Return why a record cannot be undone now, as far as can be seen without locks."""
    later = refuse_later(session, record)
    if later is not None:
        return later
    try:
        undoable(record.operations[0]).require(session, record.operations[0])
    except GitWorkerError as error:
        return error
    return None


def find_undoable(records: Iterable[ListedRecord], worker: str) -> Record | None:
    """Return the newest record of a worker that can be undone now.

    The removal of its worktree after a landing is a part of the landing.
    """
    found = (
        one.record
        for one in records
        if one.refusal is None and not one.needs_number and worker in one.record.workers
    )
    return next(found, None)


def refuse_later(session: Session, record: Record) -> GitWorkerError | None:
    """Return a refusal if a later operation on the same work must be undone first.

    The removals of a landing are a part of it and do not count.
    """
    own = undoable(record.operations[0]).own_kinds
    with session.store.read() as reader:
        for operation in record.operations:
            later = [one for one in _later(reader, operation) if one.kind not in own]
            if later:
                first = next((one for one in later if one.kind != "remove"), later[0])
                number = first_of_window(first)
                return later_refusal(record.kind, (number, first.kind))
    return None


def _later(reader: Reader, operation: Operation) -> list[Operation]:
    """Return later rewrites of the same worker's task that were not undone, newest first."""
    return [
        one
        for one in operations_on(reader, operation.worker_id, operation.task_id)
        if one.id > operation.id and one.kind in REWRITING and _is_done(one)
    ]


def _records(reader: Reader) -> Iterator[Record]:
    """Yield every record that was not undone, newest first."""
    before = LAST
    seen: set[int] = set()
    while True:
        operations = undoable_operations(reader, PAGE, before=before)
        for operation in operations:
            if undoable(operation).is_settled(reader, operation):
                continue
            record = read_record(reader, operation)
            if record.number not in seen:
                seen.add(record.number)
                yield record
        if len(operations) < PAGE:
            return
        before = operations[-1].id


def read_record(reader: Reader, operation: Operation) -> Record:
    """Return the record that an operation belongs to."""
    return Record(undoable(operation).members(reader, operation))


def _needs_number(reader: Reader, record: Record) -> bool:
    operation = record.operations[0]
    return undoable(operation).needs_number(reader, operation)


def _is_done(operation: Operation) -> bool:
    return operation.status == DONE
