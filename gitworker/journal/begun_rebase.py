"""Journal the start of a rebase, and revert a rebase that git could not start.

git moves index and files before HEAD. If it fails in between (a full disk), it leaves no rebase to
abort: the branch is as it was, and the files of the target are staged, so that the next commit
would revert the work of the branch. A lock for each worker shows whether its rebase is running.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gitworker import clock
from gitworker.errors import Conflict
from gitworker.journal.settled import Settled, end_each
from gitworker.model.ids import Oid, Ref
from gitworker.repo.checkout.move_branch import BranchMove, hold_journal, write_marker
from gitworker.repo.checkout.recover_move import take_back_checkout
from gitworker.repo.plumbing.refs import find_head_ref, find_ref
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.status.checkout_status import open_operation, read_status
from gitworker.session import Session
from gitworker.store.operations import (
    Operation,
    begin_operation,
    close_operation,
    load_operation,
    unfinished_operations,
)
from gitworker.store.payloads.payload import SyncData
from gitworker.store.workers import Worker

KIND = "sync"
REBASE = "rebase"


def lock_of(session: Session, worker_id: str) -> str:
    """Return the lock that is held while git rebases the branch of a worker."""
    return f"{session.paths.locks}/sync-{worker_id}"


@contextmanager
def journaled(session: Session, worker: Worker, ref: Ref, *, old: Oid, onto: Oid) -> Iterator[None]:
    """Record that git begins to rebase the branch; close the record, or leave it to `recover`.

    The caller holds the lock of the worker. If git has failed and the files cannot be taken back
    now, the operation stays open. Nothing is recorded if there are uncommitted changes: git refuses
    to begin, and a staged version of the target must not count as a file that git has moved.
    """
    status = read_status(session.git.at(worker.worktree or ""), untracked=False)
    if not status.is_clean:
        yield
        return
    move = BranchMove(ref, onto, old, worker.worktree or "", worker.admin_dir or "")
    _write_marker(move)
    with session.store.write_own() as writer:
        number = begin_operation(
            writer, KIND, worker=worker.worker_id, task=worker.task, actor=session.actor,
            now=clock.now_ms(),
            data=SyncData(ref, onto, old, move.worktree, move.admin_dir),
        )  # fmt: skip
        operation = load_operation(writer, number)
    try:
        yield
    except BaseException:
        with suppress(Exception):  # it stays open, for the next command
            _end(session, operation)
        raise
    _close(session, operation)


def settle_left(session: Session, worker: Worker, ref: Ref) -> bool:
    """End the operation of a killed `sync` of the worker; return whether that ended an open rebase.

    The caller holds the lock of the worker. Raises if the files cannot be reverted now.
    """
    admin_dir = worker.admin_dir or ""
    was_open = open_operation(admin_dir) == REBASE
    with session.store.read() as reader:
        left = [one for one in unfinished_operations(reader) if _is_of(one, worker.worker_id)]
    for operation in left:
        _end(session, operation)
    _drop_ended_rebase(session, worker.worktree or "", admin_dir, ref)
    return was_open and open_operation(admin_dir) is None


def is_left_open(session: Session, worker_id: str) -> bool:
    """Return whether a rebase that git did not start could not be reverted."""
    with session.store.read() as reader:
        return any(_is_of(one, worker_id) for one in unfinished_operations(reader))


def finish_syncs(session: Session) -> Settled:
    """Revert every rebase that git could not start, except those that are still running."""
    running: list[int] = []

    def end(_: Session, operation: Operation) -> None:
        if not finish_sync(session, operation):
            running.append(operation.id)

    with session.store.read() as reader:
        pending = [one for one in unfinished_operations(reader) if one.kind == KIND]
    settled = end_each(session, pending, end)
    ended = [one for one in settled.ended if one.id not in running]
    return settled._replace(ended=ended)


def finish_sync(session: Session, operation: Operation) -> bool:
    """Revert a rebase that did not start; return False while the command is still running."""
    with suppress(Conflict), hold(lock_of(session, operation.worker_id), name=KIND, timeout_s=0):
        _end(session, operation)
        return True
    return False


def _is_of(operation: Operation, worker_id: str) -> bool:
    return operation.kind == KIND and operation.worker_id == worker_id


def _end(session: Session, operation: Operation) -> None:
    """Revert the files unless git has started: the worker ends an open rebase itself."""
    data = operation.payload(SyncData)
    place, admin_dir, ref = data.worktree, data.admin_dir, data.ref
    if os.path.isdir(place) and find_head_ref(session.git.at(place)) == ref:
        move = BranchMove(ref, data.old, data.new, place, admin_dir)
        if find_ref(session.git, ref) == move.new:
            take_back_checkout(session.git, move)
        _drop_ended_rebase(session, place, admin_dir, ref)
    _close(session, operation)


def _close(session: Session, operation: Operation) -> None:
    with session.store.write_own() as writer:
        close_operation(
            writer, operation.id, status="rolled_back", step=operation.step,
            data=operation.data, now=clock.now_ms(),
        )  # fmt: skip


def _drop_ended_rebase(session: Session, place: str, admin_dir: str, ref: Ref) -> None:
    """Drop the files of a rebase that has not moved HEAD yet, or has moved it back already.

    git detaches HEAD for as long as it rebases. It writes these files before and deletes them
    afterwards, one by one; if it is killed there it can neither continue nor abort.
    """
    here = session.git.at(place)
    if open_operation(admin_dir) == REBASE and find_head_ref(here) == ref:
        here.run("rebase", "--quit")


def _write_marker(move: BranchMove) -> None:
    """Date the move: only files that are younger than the marker are taken back."""
    descriptor = hold_journal(move)
    try:
        write_marker(move, descriptor)
    finally:
        os.close(descriptor)
