"""Undo the newest operation, or one by its number: an approve, a landing, a removal, a gc.

An undo is itself in the journal. Each of its steps can be repeated, so a killed undo is finished.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gitworker.bus.drain import drain
from gitworker.crashpoint import crash_point
from gitworker.errors import GitWorkerError, NotFound
from gitworker.journal.operation_kinds import TARGET_MOVES, finish_undo, undoable
from gitworker.journal.recover import finish_interrupted, require_ended
from gitworker.journal.undo.records import (
    Record,
    find_record,
    find_refusal,
    newest_records,
    read_record,
    refuse_later,
)
from gitworker.journal.undo.rules_undo import (
    listed,
    may_undo,
    skip_refusal,
    skipped_words,
    with_older,
    withdrawn_refusal,
)
from gitworker.lifecycle.rules_take_up import ON_PURPOSE, has_failed
from gitworker.progress import Notice
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.messages.transitions import transition_metadata
from gitworker.store.operations import (
    Operation,
    find_operation,
)
from gitworker.store.payloads.payload import RemovalData, UndoData
from gitworker.store.tasks import withdrawn_since
from gitworker.store.workers import Worker, all_workers, find_worker

TRIED_AT_MOST = 20  # records that `undo` without a number looks at; --list shows as many


class SkippedRecord(NamedTuple):
    """A newer operation that cannot be undone, with the reason."""

    record: Record
    error: GitWorkerError

    @property
    def words(self) -> str:
        """Return one sentence: the operation, its number and workers, and the reason."""
        names = listed(self.record.workers)
        of = f" of {names}" if names else ""
        return f"skipped {self.record.kind} {self.record.number}{of}: {skipped_words(self.error)}"


@dataclass(frozen=True, slots=True)
class Undone:
    """An operation that was undone, with its workers as they are now; a gc has no workers.

    `skipped` are the newer operations that could not be undone, newest first.
    """

    number: int
    kind: str
    workers: tuple[Worker, ...]
    message: str
    skipped: tuple[SkippedRecord, ...] = ()

    @property
    def worker(self) -> Worker:
        """Return the worker of an operation that has only one."""
        return self.workers[0]


def undo(
    session: Session, number: int | None = None, *, settled: Sequence[Operation] = ()
) -> Undone:
    """Undo the newest operation, or the one with that number (`records.list_records`).

    Without a number, newer operations that can never be undone are skipped. The newest one is
    refused instead if the user can repair the cause, or if the older one is a landing or of another
    caller. If an interrupted undo was finished just now, here or among the `settled` operations, it
    is the result: a repeated command does not undo one operation more. Raises NotFound if there is
    no such operation. Raises Refused if the worker has continued since, a later operation depends
    on it, or the landing cannot be undone.
    """
    with hold(session.landing_lock, name="landing"):
        ended = [*settled, *finish_interrupted(session).ended]
        drain(session)
        skipped: list[SkippedRecord] = []
        if number is None:
            finished = _find_finished(session, ended)
            if finished is not None:
                return finished
            record = _choose(session, skipped)
        else:
            record = find_record(session, number)
            refusal = _may_undo(session, record) or refuse_later(session, record)
            if refusal is not None:
                raise refusal
        for operation in record.operations:
            require_ended(session, operation.worker_id)
        kind = undoable(record.operations[0])
        kind.require(session, record.operations[0])
        operation = kind.begin(session, record.operations[0])
        crash_point("undo.journal")
        finish_undo(session, operation)
        with session.store.read() as reader:
            found = [find_worker(reader, name) for name in record.workers]
            kept = [
                ref for operation in record.operations if (ref := _still_kept(reader, operation))
            ]
    workers = tuple(worker for worker in found if worker is not None)
    message = kind.describe(record.operations, workers)
    for ref in kept:
        message += f"; the uncommitted work is still under {ref} (git stash apply {ref})"
    return Undone(record.number, record.kind, workers, message, tuple(skipped))


def _find_finished(session: Session, ended: Sequence[Operation]) -> Undone | None:
    """Return the undo among operations that were ended just now, if it took effect."""
    for operation in ended:
        if not isinstance(operation.data, UndoData):
            continue
        with session.store.read() as reader:
            undone = find_operation(reader, operation.data.undoes)
            if undone is None or undone.status != "undone":
                continue
            operations = read_record(reader, undone).operations
            workers = tuple(filter(None, (find_worker(reader, o.worker_id) for o in operations)))
        message = undoable(undone).describe(operations, workers)
        return Undone(undone.id, undone.kind, workers, message)
    return None


def _choose(session: Session, skipped: list[SkippedRecord]) -> Record:
    """Return the newest record that can be undone, and append newer ones to `skipped`.

    Raises the error of a newer one that must not be skipped, or of the newest one if no record can
    be undone. A stop since the newest one is reported: it is no record, since `resume` takes the
    work up. A cancel or skip of a queued task is no record either, and is not passed over.
    """
    stopped = _newest_stop(session)
    records = newest_records(session, limit=TRIED_AT_MOST)
    _require_no_withdrawal(session, records)
    for number, record in enumerate(records):
        if number == 0 and stopped is not None and stopped.state_changed_at_ms > record.at_ms:
            resume = f"git worker resume {stopped.worker_id}"
            session.report(Notice(f"{_stop_text(stopped)}; to take it up: {resume}"))
        refusal = _may_undo(session, record) or find_refusal(session, record)
        if refusal is None:
            _require_meant(session, record, skipped)
            return record
        skipped.append(SkippedRecord(record, refusal))
    if skipped:
        raise skipped[0].error
    if stopped is not None:
        resume = f"git worker resume {stopped.worker_id}"
        raise NotFound(f"there is nothing to undo: {_stop_text(stopped)}", resume)
    raise NotFound("there is nothing to undo", "git worker log")


def _require_no_withdrawal(session: Session, records: Sequence[Record]) -> None:
    """Raise Refused if the caller cancelled or skipped a queued task after the newest record."""
    since = records[0].at_ms if records else 0
    with session.store.read() as reader:
        withdrawn = withdrawn_since(reader, session.actor, since)
    # After the clock was set back, the cancel of a record is dated later than the record itself.
    recorded = {one.task_id for record in records for one in record.operations}
    if withdrawn is None or withdrawn[0] in recorded:
        return
    refusal = withdrawn_refusal(*withdrawn)
    for record in records:
        if (_may_undo(session, record) or find_refusal(session, record)) is None:
            raise with_older(refusal, (record.number, record.kind), listed(record.workers))
    raise refusal


def _require_meant(session: Session, record: Record, skipped: Sequence[SkippedRecord]) -> None:
    """Raise the error of a skipped record if `record` is only undone by its number."""
    newer = skip_refusal(
        [(one.error, one.record.actor == session.actor) for one in skipped],
        is_own=record.actor == session.actor, moves_target=record.kind in TARGET_MOVES,
    )  # fmt: skip
    if newer is not None:
        raise with_older(newer, (record.number, record.kind), listed(record.workers))


def _newest_stop(session: Session) -> Worker | None:
    """Return the worker that was stopped last, or gave up last; None if no worker did."""
    with session.store.read() as reader:
        stopped = [
            one
            for one in all_workers(reader)
            if has_failed(one.state)
            and transition_metadata(reader, one.worker_id, one.version).get(ON_PURPOSE)
        ]
    return max(stopped, key=lambda one: one.state_changed_at_ms, default=None)


def _stop_text(worker: Worker) -> str:
    reason = f" ({worker.last_error})" if worker.last_error else ""
    return f"worker {worker.worker_id} has failed{reason}, which undo does not reverse"


def _may_undo(session: Session, record: Record) -> GitWorkerError | None:
    """Return why the caller must not undo a record, or None."""
    return may_undo(session.actor, record.actor, self_review=session.settings.review_self)


def _still_kept(reader: Reader, operation: Operation) -> str | None:
    """Return the rescue ref of uncommitted work that could not come back into a new worktree."""
    done = undoable(operation).removal(reader, operation)
    if done is None or not isinstance(done.data, RemovalData) or done.data.unpacked:
        return None
    return done.data.rescue
