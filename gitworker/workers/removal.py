"""Removing a worktree and its branch so that nothing of it is lost.

The old tip and what was uncommitted or untracked stay reachable under a rescue ref; the worktree
itself, ignored files and index included, moves into the trash. A worktree in which a process has
its working directory is never removed.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

from gitworker import clock
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, Refused
from gitworker.liveness.process import processes_in
from gitworker.model.ids import Branch, Oid, Ref, TaskId, WorkerId, ref_of
from gitworker.model.worker import WorkerEvent
from gitworker.repo.checks import read_status
from gitworker.repo.lock import hold
from gitworker.repo.refs import delete_branch, find_ref, find_tip
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
from gitworker.workers.trashing import entry_name, put_into_trash
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


def plan_removal(
    session: Session, worker: Worker, kind: str, *, dirty: bool | None = None
) -> Operation:
    """Rescue what the removal would drop and write the journal; nothing is removed yet.

    `dirty` is the answer of `is_dirty` where the caller has just asked.
    """
    ref = ref_of(Branch(worker.branch or ""))
    tip = find_tip(session.git, session.repository.common_dir, ref)
    has_tree = worker.worktree is not None and os.path.isdir(worker.worktree)
    dirty = is_dirty(session, worker) if dirty is None else dirty
    data = {
        "ref": ref,
        "tip": tip,
        "base": worker.base_oid,
        "rescue": _rescue(session, worker, tip, kind=kind, dirty=dirty),
        "worktree": worker.worktree if has_tree else None,
        "admin_dir": worker.admin_dir if has_tree else None,
        "dirty": dirty,
        "state": worker.state.value,
    }
    with session.store.write() as writer:
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
    crash_point(f"{kind}.journal")
    return operation


def finish_removal(session: Session, operation: Operation) -> Worker:
    """Carry a journaled removal out to its end: trash, branch, rows. Safe to repeat.

    Raises Refused, the journal closed and nothing changed, where the worktree cannot be moved.
    """
    worker, entry = remove(session, operation)
    discard(session, [] if entry is None else [entry])
    publish_views(session, operation.worker_id)
    return worker


def remove(session: Session, operation: Operation) -> tuple[Worker, Discard | None]:
    """Do the same but for telling it and for deleting what the trash need not keep: return that."""
    try:
        entry = carry_out(session, operation)
    except Refused:
        _close(session, operation, status="rolled_back")
        raise
    now = clock.now_ms()
    with session.store.write() as writer:
        worker = find_worker(writer, operation.worker_id)
        assert worker is not None
        if operation.kind in EVENTS:
            worker = advance(writer, worker, EVENTS[operation.kind], actor=operation.actor)
            release_task(writer, worker)
            writer.run("workers.clear_assignment", worker=worker.worker_id)
        elif worker.task_id == operation.task_id:  # a seat may have its next task by now
            writer.run(
                "workers.set_worktree", worker=worker.worker_id, worktree=None, admin_dir=None
            )
        forget_branch(writer, operation)
        close_operation(
            writer, operation.id, status="done", step="recorded", data=operation.data, now=now
        )
        stored = find_worker(writer, operation.worker_id)
        assert stored is not None
    tip = operation.data["tip"]
    landed = operation.kind == "remove" and tip and not operation.data["dirty"]
    return stored, (entry, tip) if entry is not None and landed else None


def discard(session: Session, entries: Sequence[Discard]) -> None:
    """Delete landed worktrees from the trash in the background, those that are clean."""
    delete_clean_in_background(entries, session.repository.common_dir)


def carry_out(session: Session, operation: Operation) -> TrashEntry | None:
    """Move the worktree to the trash and delete the branch; repeating it does no harm."""
    with hold(session.worktree_lock, what="worktree"):
        return carry_out_locked(session, operation)


def carry_out_locked(session: Session, operation: Operation) -> TrashEntry | None:
    """Do the same for a caller that holds the worktree lock."""
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
    _delete_branch(session, operation)
    crash_point(f"{operation.kind}.branch")
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


def _close(session: Session, operation: Operation, *, status: str) -> None:
    with session.store.write() as writer:
        close_operation(
            writer, operation.id, status=status, step=operation.step, data=operation.data,
            now=clock.now_ms(),
        )  # fmt: skip
