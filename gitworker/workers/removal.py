"""Removing a worktree and its branch so that nothing of it is lost.

The old tip and what was uncommitted or untracked stay reachable under a rescue ref; the worktree
itself, ignored files and index included, moves into the trash. A worktree in which a process has
its working directory is never removed.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from gitworker import clock
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, GitWorkerError, Refused
from gitworker.liveness.process import processes_in
from gitworker.model.ids import Branch, Oid, Ref, TaskId, WorkerId, ref_of
from gitworker.model.worker import WorkerEvent
from gitworker.repo.checks import read_status
from gitworker.repo.lock import hold
from gitworker.repo.refs import change_refs, delete_branch, find_ref, find_tip
from gitworker.repo.rescue import rescue
from gitworker.repo.trash import TrashEntry, delete_clean_in_background
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.operations import (
    Operation,
    begin_operation,
    close_operation,
    find_operation,
)
from gitworker.store.workers import Worker, find_worker
from gitworker.workers.moves import advance, release_task
from gitworker.workers.trashing import entry_name, put_into_trash, ready_trash
from gitworker.workers.views import publish_views

Discard = tuple[TrashEntry, str]  # an entry, and the commit that is all it should hold
EVENTS = {"cancel": WorkerEvent.CANCEL, "reset": WorkerEvent.RESET}


def occupants(worker: Worker) -> list[int]:
    """Return the pids of processes whose working directory is the worker's worktree."""
    return processes_in(worker.worktree) if worker.worktree else []


def is_locked(worker: Worker) -> bool:
    """Tell whether the worktree was locked by its user (git-worktree(1))."""
    return worker.admin_dir is not None and os.path.lexists(f"{worker.admin_dir}/locked")


def refuse_stuck(worker: Worker) -> None:
    """Raise Refused where a process lives in the worktree, or its user locked it."""
    if is_locked(worker):
        raise Refused(
            f"{worker.worktree} is locked",
            f"git worktree unlock {worker.worktree}",
            code="worktree_locked",
        )
    pids = occupants(worker)
    if pids:
        listed = ", ".join(str(pid) for pid in pids[:5])
        raise Refused(
            f"a process has its working directory in {worker.worktree} (pid {listed})",
            "leave that directory, or stop the process, and run the command again",
            code="occupied",
        )


def is_dirty(session: Session, worker: Worker) -> bool:
    """Tell whether the worktree holds anything uncommitted or untracked."""
    if worker.worktree is None or not os.path.isdir(worker.worktree):
        return False
    return not read_status(session.git.at(worker.worktree)).is_clean


class Removed(NamedTuple):
    """A worker whose worktree and branch are gone, and what need not be kept of it."""

    worker: Worker
    discard: Discard | None


class Going(NamedTuple):
    """A worker whose worktree goes; `dirty` is the answer of `is_dirty` where it is known."""

    worker: Worker
    dirty: bool | None = None


def plan_removal(session: Session, worker: Worker, kind: str) -> Operation:
    """Rescue what the removal would drop and write the journal; nothing is removed yet."""
    (operation,) = plan_removals(session, [Going(worker)], kind)
    return operation


def plan_removals(session: Session, going: Sequence[Going], kind: str) -> list[Operation]:
    """Do the same for several workers, by one transaction."""
    plans = [_plan(session, one, kind) for one in going]
    with session.store.write() as writer:
        operations = [
            _journal(session, writer, kind, worker=one.worker, data=data)
            for one, data in zip(going, plans, strict=True)
        ]
    if operations:
        crash_point(f"{kind}.journal")
    return operations


def _plan(session: Session, going: Going, kind: str) -> dict[str, Any]:
    worker = going.worker
    ref = ref_of(Branch(worker.branch or ""))
    tip = find_tip(session.git, session.repository.common_dir, ref)
    has_tree = worker.worktree is not None and os.path.isdir(worker.worktree)
    dirty = is_dirty(session, worker) if going.dirty is None else going.dirty
    return {
        "ref": ref,
        "tip": tip,
        "base": worker.base_oid,
        "rescue": _rescue(session, worker, tip, kind=kind, dirty=dirty),
        "worktree": worker.worktree if has_tree else None,
        "admin_dir": worker.admin_dir if has_tree else None,
        "dirty": dirty,
        "state": worker.state.value,
    }


def _journal(
    session: Session, writer: Writer, kind: str, *, worker: Worker, data: dict[str, Any]
) -> Operation:
    number = begin_operation(
        writer,
        kind,
        worker=worker.worker_id,
        task=worker.task_id or "",
        actor=session.actor,
        now=clock.now_ms(),
        data=data,
    )
    operation = find_operation(writer, number)
    assert operation is not None
    return operation


def finish_removal(session: Session, operation: Operation) -> Worker:
    """Carry a journaled removal out to its end: trash, branch, rows. Safe to repeat.

    Raises Refused, the journal closed and nothing changed, where the worktree cannot be moved.
    """
    (removed,) = remove(session, [operation])
    if isinstance(removed, GitWorkerError):
        raise removed
    discard(session, [] if removed.discard is None else [removed.discard])
    publish_views(session, operation.worker_id)
    return removed.worker


def remove(session: Session, operations: Sequence[Operation]) -> list[Removed | GitWorkerError]:
    """Carry removals out, but for telling them and for deleting what the trash need not keep.

    One that is refused is closed, nothing of it changed, and its error returned in its place. Any
    other error is raised, the journals left open.
    """
    if not operations:
        return []
    refused: dict[int, GitWorkerError] = {}
    entries: dict[int, TrashEntry | None] = {}
    with hold(session.worktree_lock, what="worktree"):
        ready_trash(session)
        for operation in operations:
            try:
                entries[operation.id] = _put_away(session, operation)
            except Refused as error:
                refused[operation.id] = error
        gone = [operation for operation in operations if operation.id in entries]
        _delete_branches(session, gone)
        crash_point(f"{operations[0].kind}.branch")
    with session.store.write() as writer:
        done = {
            operation.id: _record(writer, operation, entries[operation.id]) for operation in gone
        }
        for operation in operations:
            if operation.id in refused:
                _close(writer, operation, status="rolled_back")
    return [done.get(one.id) or refused[one.id] for one in operations]


def _record(writer: Writer, operation: Operation, entry: TrashEntry | None) -> Removed:
    worker = find_worker(writer, operation.worker_id)
    assert worker is not None
    if operation.kind in EVENTS:
        worker = advance(writer, worker, EVENTS[operation.kind], actor=operation.actor)
        release_task(writer, worker)
        writer.run("workers.clear_assignment", worker=worker.worker_id)
    elif worker.task_id == operation.task_id:  # a seat may have its next task by now
        writer.run("workers.set_worktree", worker=worker.worker_id, worktree=None, admin_dir=None)
    forget_branch(writer, operation)
    _close(writer, operation, status="done")
    stored = find_worker(writer, operation.worker_id)
    assert stored is not None
    tip = operation.data["tip"]
    landed = operation.kind == "remove" and tip and not operation.data["dirty"]
    return Removed(stored, (entry, tip) if entry is not None and landed else None)


def discard(session: Session, entries: Sequence[Discard]) -> None:
    """Delete landed worktrees from the trash in the background, those that are clean."""
    delete_clean_in_background(entries, session.repository.common_dir)


def carry_out_locked(session: Session, operation: Operation) -> None:
    """Move the worktree to the trash and delete the branch; repeating it does no harm.

    For a caller that holds the worktree lock.
    """
    ready_trash(session)
    _put_away(session, operation)
    _delete_branch(session, operation)


def _put_away(session: Session, operation: Operation) -> TrashEntry | None:
    data = operation.data
    entry = None
    if data["worktree"]:
        entry = put_into_trash(
            session,
            worktree=data["worktree"],
            admin_dir=data["admin_dir"],
            name=entry_name(operation.worker_id, operation.task_id, operation.id),
            ref=data["ref"],
        )
    crash_point(f"{operation.kind}.trashed")
    return entry


def forget_branch(writer: Writer, operation: Operation) -> None:
    """Drop what was remembered of a branch that is gone."""
    writer.run("tips.forget", ref=operation.data["ref"])
    writer.run("tips.forget_rewrites", ref=operation.data["ref"])


def _rescue(
    session: Session, worker: Worker, tip: Oid | None, *, kind: str, dirty: bool
) -> str | None:
    """Keep what would be dropped; a landed branch's commits are in the target already."""
    if tip is None or (kind == "remove" and not dirty):
        return None
    saved = rescue(
        session.git,
        worker=WorkerId(worker.worker_id),
        task=TaskId(worker.task_id or ""),
        tip=tip,
        worktree=worker.worktree if worker.worktree and os.path.isdir(worker.worktree) else None,
    )
    return str(saved.ref)


def _delete_branches(session: Session, operations: Sequence[Operation]) -> None:
    """Delete the branches by one process; where one has moved meanwhile, one after the other."""
    orders = [
        f"delete {operation.data['ref']} {operation.data['tip']}"
        for operation in operations
        if operation.data["tip"] is not None
    ]
    if len(orders) == len(operations) > 1 and change_refs(
        session.git, orders, reason="gitworker: remove"
    ):
        return
    for operation in operations:
        _delete_branch(session, operation)


def _delete_branch(session: Session, operation: Operation) -> None:
    """Delete the branch; what was committed since the plan is rescued first."""
    data = operation.data
    ref = Ref(data["ref"])
    if data["tip"] is not None:
        with suppress(Conflict):
            delete_branch(session.git, ref, Oid(data["tip"]))
            return
    tip = find_ref(session.git, ref)
    if tip is None:
        return
    if tip != data["tip"]:
        saved = rescue(
            session.git,
            worker=WorkerId(operation.worker_id),
            task=TaskId(operation.task_id),
            tip=tip,
            worktree=None,
        )
        data.update(tip=tip, rescue=str(saved.ref))
    delete_branch(session.git, ref, tip)


def _close(writer: Writer, operation: Operation, *, status: str) -> None:
    step = operation.step if status == "rolled_back" else "recorded"
    close_operation(
        writer, operation.id, status=status, step=step, data=operation.data, now=clock.now_ms()
    )
