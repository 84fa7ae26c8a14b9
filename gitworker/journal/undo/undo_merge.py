"""Undo a landing: move the target back over the whole window, give the workers their tasks again.

A window landed by one fast-forward, so one move reverts it. This requires that the target's tip is
the last commit of the window, that no remote has it and that no other branch builds on it. Each
branch is restored to its state before the replay; a rescue ref keeps the replayed commits.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

from gitworker import clock
from gitworker.bus.publish import Outgoing, publish
from gitworker.bus.transitions import move_task
from gitworker.crashpoint import crash_point
from gitworker.errors import Refused
from gitworker.journal.undo.reassign import RestoredWorker, StateBefore, assign_again
from gitworker.journal.undo.restore import bring_back, path_exists
from gitworker.journal.undo.rules_undo import is_completed, listed
from gitworker.journal.undo.undo_window import (
    UndoWindow,
    bring_branch_back,
    read_window,
    reassign_refusal,
    reopen_workstream,
    require_branch,
    window_refusal,
)
from gitworker.journal.undo.undoable import Undoable, close, closed_unless_begun
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.ids import TaskId, WorkerId
from gitworker.model.ref_names import short_name
from gitworker.model.task import TaskEvent
from gitworker.model.worker import WorkerState
from gitworker.paths import read_worktree_owner
from gitworker.repo.checkout.move_branch import move_branch
from gitworker.repo.checkout.recover_move import contains, recover_move
from gitworker.repo.checkout.rewind import require_rewindable, rewind
from gitworker.repo.plumbing.refs import find_ref
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.rescue.rescue_refs import rescue
from gitworker.repo.rescue.trash import repair_trash
from gitworker.repo.worktrees.ownership import OwnershipClaim, require_owned
from gitworker.repo.worktrees.worktree_list import find_admin_dir, find_checkout
from gitworker.rules_text import quoted
from gitworker.session import Session, missing_target
from gitworker.store.api import Reader, Writer
from gitworker.store.operations import LAND, Operation, begin_undo, find_last_operation
from gitworker.store.payloads.payload import MergeData, RemovalData, UndoData
from gitworker.store.records.landings import mark_undone
from gitworker.store.records.tips import move_tip
from gitworker.store.tasks import find_task
from gitworker.store.workers import Worker, load_worker
from gitworker.worktrees.removal import trash_of


def _require(session: Session, done: Operation) -> None:
    """Raise Refused if the window of a landing cannot be undone now."""
    with session.store.read() as reader:
        window = read_window(reader, done)
    refusal = window_refusal(session, window)
    if refusal is not None:
        raise refusal


def _begin(session: Session, done: Operation) -> Operation:
    """Check each worker, rescue the replayed commits and write the journal; nothing is moved yet.

    Raises Refused or Conflict if the landing cannot be undone.
    """
    with session.store.read() as reader:
        window = read_window(reader, done)
    checkout = find_checkout(session.git, window.ref)
    if checkout is not None and window.old != window.new:
        require_rewindable(
            session.git, ref=window.ref, old=window.new, new=window.old, worktree=checkout
        )
    for landing in window.landed:
        _require_whole(session, landing)
    if window.workstream is not None:
        require_branch(session, window.workstream)
    last = window.landings[-1]
    kept = rescue(
        session.git,
        worker=WorkerId(last.worker_id),
        task=TaskId(last.task_id),
        tip=window.new,
        worktree=None,
    )
    with session.store.write_own() as writer:
        return begin_undo(
            writer, window.landings[0], actor=session.actor, now=clock.now_ms(),
            rescue=str(kept.ref), checkout=checkout,
        )  # fmt: skip


def _require_whole(session: Session, landing: Operation) -> None:
    """Raise if the branch or worktree of a landed worker could not be restored unchanged."""
    data = landing.payload(MergeData)
    ref, old, new = data.ref, data.old, data.new
    if session.git.find_oid(old) is None:
        raise Refused(
            f"the commits of {landing.worker_id} before the replay do not exist ({old[:12]})",
            f"git revert {data.target_old[:12]}..{new[:12]}",
            code="commits_gone",
        )
    tip = find_ref(session.git, ref)
    name = short_name(ref)
    if tip not in (None, old, new):
        raise Refused(
            f"the branch {name} has changed since it landed; an undo would abandon that",
            f"git log {name}",
            code="branch_moved",
        )
    removal, restored = _find_taken(session, landing)
    place = restored.worktree
    if place is None:
        return
    admin_dir = find_admin_dir(session.repository.common_dir, place)
    if not os.path.lexists(place):
        if admin_dir is not None and removal is None:
            raise _missing(landing, place)
        return
    mark = None if admin_dir is None else read_worktree_owner(admin_dir)
    if mark != (landing.worker_id, landing.task_id):
        raise path_exists(place)
    require_owned(OwnershipClaim(session.repository.common_dir, place, admin_dir))
    if tip == new != old:
        require_rewindable(session.git, ref=ref, old=new, new=old, worktree=place)


def _missing(landing: Operation, place: str) -> Refused:
    """Return the refusal for a kept worktree that git lists at a path that does not exist."""
    return Refused(
        f"the worktree of {landing.worker_id} is not at {place}: it was moved by hand, deleted or"
        " unmounted",
        f"git worktree repair <new-place>   # if it was deleted: git worktree remove --force"
        f" --force {quoted(place)}; then undo again",
        code="worktree_missing",
    )


def _carry_out(session: Session, operation: Operation, done: Operation) -> None:
    """Complete the undo of a landing; safe to repeat.

    If the target has not moved and cannot move, the operation is closed. Once the target has moved
    back, the operation stays open until branches and worktrees are restored too.
    """
    with session.store.read() as reader:
        window = read_window(reader, done)
    with hold(session.worktree_lock, name="worktree"):  # no spawn may take a worker now
        with closed_unless_begun(session, operation, lambda: _is_back(session, window)):
            _take_back(session, operation, window)
        crash_point("undo.rewound")
        _give_back(session, operation, window)
    publish_views(session, *(landing.worker_id for landing in window.landed))


def _give_back(session: Session, operation: Operation, window: UndoWindow) -> None:
    """Restore branches, worktrees and tasks, and record the undo in one transaction.

    A worker that got another task after the undo was killed keeps it. Its landed task is open
    again, and the rescue ref keeps its commits.
    """
    with session.store.read() as reader:
        left = [
            landing for landing in window.landed if reassign_refusal(reader, landing) is not None
        ]
    free = [landing for landing in window.landed if landing not in left]
    removals = [_find_taken(session, landing)[0] for landing in free]
    for trash in {trash_of(session, removal) for removal in removals if removal is not None}:
        repair_trash(trash, common_dir=session.repository.common_dir)
    returned = [(landing, *_bring_back(session, landing)) for landing in free]
    if window.workstream is not None:
        bring_branch_back(session, window.workstream)
    crash_point("undo.returned")
    with session.store.write() as writer:
        for landing, removal, restored in returned:
            assign_again(session, writer, restored, actor=operation.actor)
            for ended in filter(None, (landing, removal)):
                close(writer, ended, "undone")
        for landing in left:
            _reopen(writer, landing, actor=operation.actor)
            close(writer, landing, "undone")
        for landing in window.landed:
            mark_undone(
                writer, landing.id, worker=landing.worker_id, task=landing.task_id,
                now=clock.now_ms(),
            )  # fmt: skip
        if window.workstream is not None:
            reopen_workstream(writer, window.workstream)
            close(writer, window.workstream, "undone")
        _publish_target(writer, operation, window)
        close(writer, operation, "done")


def _reopen(writer: Writer, landing: Operation, *, actor: str) -> None:
    """Reopen a task whose work is no longer on the target."""
    task = find_task(writer, landing.task_id)
    if task is not None and task.assigned_agent_id is None and is_completed(task.status):
        move_task(writer, task, (TaskEvent.ADMIN_RESTART,), actor=actor)


def _take_back(session: Session, operation: Operation, window: UndoWindow) -> None:
    if window.old == window.new:
        return
    checkout = operation.payload(UndoData).checkout
    if checkout is not None and not os.path.isdir(checkout):
        checkout = None
    if not _is_back(session, window):
        with session.store.read() as reader:
            refusal = next(
                filter(None, (reassign_refusal(reader, landing) for landing in window.landed)), None
            )
        if refusal is not None:
            raise refusal
    elif checkout is None:
        return
    rewind(
        session.git,
        ref=window.ref,
        old=window.new,
        new=window.old,
        worktree=checkout,
        reason=f"git worker undo {window.landings[0].id}",
    )


def _is_back(session: Session, window: UndoWindow) -> bool:
    tip = find_ref(session.git, window.ref)
    if tip is None:
        raise missing_target(session)
    return not contains(session.git, tip, window.new)


def _find_taken(session: Session, landing: Operation) -> tuple[Operation | None, RestoredWorker]:
    """Return the removal after a landing, if there was one, and the things to give back."""
    data = landing.payload(MergeData)
    with session.store.read() as reader:
        removal = _removal_after(reader, landing)
        worker = load_worker(reader, landing.worker_id)
    if removal is not None and (removal.id < landing.id or removal.status != "done"):
        removal = None
    same = worker if worker.task_id == landing.task_id else None
    taken = removal and removal.payload(RemovalData)
    place = taken.worktree if taken else same and same.worktree
    if removal is None and not (place and os.path.isdir(place)):  # moved, or removed by hand
        place = find_checkout(session.git, data.ref, alone=False)
    base = taken.base if taken else same and same.base_oid
    tip = (taken and taken.tip) or data.old
    restored = RestoredWorker(
        landing.worker_id,
        landing.task_id,
        data.ref,
        tip,
        base or session.git.text("merge-base", data.old, data.target_old),
        place or data.worktree or f"{session.worktree_root}/{landing.task_id}",
        StateBefore(WorkerState.APPROVED),
    )
    return removal, restored


def _bring_back(session: Session, landing: Operation) -> tuple[Operation | None, RestoredWorker]:
    """Restore one worker's branch and worktree to their state before the replay.

    A branch that moved to the landed commits stays there if its worktree cannot move back now.
    """
    removal, restored = _find_taken(session, landing)
    removal = bring_back(session, restored, removal)
    data = landing.payload(MergeData)
    old, new = data.old, data.new
    place = restored.worktree
    if old != new and find_ref(session.git, restored.ref) in (
        old,
        new,
    ):  # a killed undo may have moved it
        with suppress(Refused):
            if not recover_move(session.git, ref=restored.ref, old=new, new=old, worktree=place):
                move_branch(session.git, ref=restored.ref, old=new, new=old, worktree=place)
    return removal, restored._replace(tip=find_ref(session.git, restored.ref))


def _publish_target(writer: Writer, operation: Operation, window: UndoWindow) -> None:
    """Publish that the target moved back, unless the drain has published it already."""
    now = clock.now_ms()
    if move_tip(writer, window.ref, old=window.new, new=window.old, now=now):
        payload = {"ref": window.ref, "from": window.new, "to": window.old, "undo": operation.id}
        publish(
            writer, Outgoing("x-target-moved", sender=operation.actor, payload=payload), now=now
        )


def _removal_after(reader: Reader, landing: Operation) -> Operation | None:
    return find_last_operation(reader, "remove", worker=landing.worker_id, task=landing.task_id)


def _describe(undone: Sequence[Operation], workers: Sequence[Worker]) -> str:
    data = undone[0].payload(MergeData)
    if undone[0].kind == LAND:
        again = f"git worker workstream validate {undone[0].task_id}"
        back = f"{short_name(data.target_ref)} is back at {data.target_old[:12]}"
        return f"{back}, and {short_name(data.ref)} at {data.old[:12]}; to land it again: {again}"
    states = listed([worker.in_words for worker in workers])
    return f"{short_name(data.target_ref)} is back at {data.target_old[:12]}; {states}"


LANDING = Undoable(
    _require, _carry_out, _describe, begin=_begin,
    members=lambda reader, landing: read_window(reader, landing).landings,
    own_kinds=frozenset({"merge", "remove", LAND}), removal=_removal_after,
)  # fmt: skip
