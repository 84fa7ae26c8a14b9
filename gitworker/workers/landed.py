"""What follows once the target has moved: the record, then the worktree and the branch away."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gitworker import clock
from gitworker.bus.drain import record_tip
from gitworker.errors import GitWorkerError
from gitworker.model.ids import Branch, Oid, Ref, ref_of
from gitworker.model.worker import WorkerEvent
from gitworker.repo.follow import move_branch
from gitworker.repo.recovery import recover_move
from gitworker.repo.refs import find_ref, find_tip, is_ancestor
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.operations import Operation, advance_operation, close_operation
from gitworker.store.workers import Worker, find_worker
from gitworker.workers.moves import advance, release_task
from gitworker.workers.removal import Discard, is_locked, occupants, plan_removal, remove

RECORDED = "recorded"  # the step of a landing that is told, but not cleaned up


def finish_merge(writer: Writer, operation: Operation) -> Worker:
    """Record a landing whose target has moved: COMPLETED, the landing's row, the message.

    The act stays open, as `recorded`, until what landed is cleaned up.
    """
    data = operation.data
    worker = find_worker(writer, operation.worker_id)
    assert worker is not None
    now = clock.now_ms()
    worker = advance(
        writer, worker, WorkerEvent.MERGE, actor=operation.actor,
        metadata={"commit": data["new"], "target": data["target_ref"]},
    )  # fmt: skip
    writer.run(
        "operations.land",
        operation=operation.id, worker=operation.worker_id, task=operation.task_id,
        branch=worker.branch, target_ref=data["target_ref"], target_old=data["target_old"],
        target_new=data["new"], branch_old=data["old"], now=now,
    )  # fmt: skip
    record_tip(writer, data["ref"], data["old"])
    record_tip(writer, data["target_ref"], data["new"])
    release_task(writer, worker)
    advance_operation(writer, operation.id, step=RECORDED, data=data, now=now)
    return worker


def close_merges(session: Session, operations: Sequence[Operation]) -> None:
    """End the journals of landings, once everything of them is done."""
    with session.store.write() as writer:
        for operation in operations:
            close_operation(
                writer, operation.id, status="done", step=RECORDED, data=operation.data,
                now=clock.now_ms(),
            )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What became of a landed worktree: kept, and why, or gone, and what may be deleted of it."""

    kept: str | None = None
    why: str | None = None
    discard: Discard | None = None


def clean_up(
    session: Session, worker: Worker, landing: Mapping[str, Any], *, dirty: bool | None = None
) -> Cleaned:
    """Remove a landed worker's worktree and branch, or say why they are kept.

    `landing` is the data of its journal. What is kept follows to the commits that landed.
    """
    if landing["keep"]:
        cleaned = Cleaned(worker.worktree, "--keep")
    else:
        known = (landing["old"], landing["new"])
        cleaned = remove_landed(session, worker, known=known, dirty=dirty)
    if cleaned.why is not None:
        _follow(session, landing)
    return cleaned if cleaned.kept else Cleaned(discard=cleaned.discard)


def remove_landed(
    session: Session, worker: Worker, *, known: tuple[str, ...] = (), dirty: bool | None = None
) -> Cleaned:
    """Remove the worktree and the branch of a worker that has landed, if nobody needs them.

    `known` are tips whose patches have landed.
    """
    why = _reason_to_keep(session, worker, known)
    if why is not None or worker.worktree is None:
        return Cleaned(worker.worktree, why or "it has no worktree")
    try:
        _, gone = remove(session, plan_removal(session, worker, "remove", dirty=dirty))
    except GitWorkerError as error:  # it has landed: what cannot go stays, and that is said
        return Cleaned(worker.worktree, error.message)
    return Cleaned(discard=gone)


def _follow(session: Session, landing: Mapping[str, Any]) -> None:
    """Move a branch that is kept, and its worktree, to the commits that landed.

    Where that is refused (local changes in the way, an agent in the middle of something), the
    branch stays as it is: its patches have landed, and `git worker sync` brings it there later.
    """
    ref, old, new = Ref(landing["ref"]), Oid(landing["old"]), Oid(landing["new"])
    places = {"worktree": landing["worktree"], "admin_dir": landing["admin_dir"]}
    if places["worktree"] is not None and not os.path.isdir(places["worktree"]):
        places = {"worktree": None, "admin_dir": None}
    if old == new or find_ref(session.git, ref) is None:
        return
    with suppress(GitWorkerError):
        if not recover_move(session.git, ref=ref, old=old, new=new, **places):
            move_branch(session.git, ref=ref, old=old, new=new, **places)


def _reason_to_keep(session: Session, worker: Worker, known: tuple[str, ...]) -> str | None:
    pids = occupants(worker)
    if pids:
        return f"process {pids[0]} has its working directory there"
    if is_locked(worker):
        return "it is locked (git worktree unlock)"
    ref = ref_of(Branch(worker.branch or ""))
    tip = find_tip(session.git, session.repository.common_dir, ref)
    if tip is None or tip in known:
        return None
    target = find_ref(session.git, session.target)
    if target is None or not is_ancestor(session.git, tip, target):
        return "its branch has commits that have not landed"
    return None
