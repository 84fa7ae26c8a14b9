"""Remove a worktree and its branch without losing work.

A rescue ref keeps the old tip and uncommitted or untracked files. The worktree itself moves into
the trash with its ignored files and index. A worktree in which a process has its working directory
is never removed.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from gitworker import clock
from gitworker.branches.replay_branch import drop_anchors
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, GitWorkerError, Refused, as_gitworker_error
from gitworker.lifecycle.lost_task import publish_end, publish_left_out
from gitworker.lifecycle.moves import advance, release_task
from gitworker.lifecycle.state_files import publish_views
from gitworker.liveness.supervised_agent import living_agent
from gitworker.model.ids import Oid, TaskId, WorkerId
from gitworker.model.ref_names import anchor_of, short_name
from gitworker.model.worker import WorkerEvent
from gitworker.paths import is_locked_by_user
from gitworker.progress import Notice
from gitworker.repo.plumbing.refs import change_refs, delete_branch, find_ref, find_tip, is_ancestor
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.rescue.rescue_refs import RescueRef, rescue, rescue_worktree_only_commits
from gitworker.repo.rescue.trash import TrashEntry
from gitworker.repo.rescue.worktree_commits import has_abandoned_commits
from gitworker.repo.status.embedded_repositories import may_have_submodules
from gitworker.repo.worktrees.ownership import (
    Flaw,
    OwnershipClaim,
    find_flaw,
    has_worktree,
    is_lost,
    owner_of,
)
from gitworker.repo.worktrees.worktree_list import (
    detached_head,
    find_inner,
    last_head,
    linked_places,
)
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.operations import (
    Operation,
    begin_operation,
    close_operation,
    load_operation,
)
from gitworker.store.payloads.payload import LostWorktree, RemovalData
from gitworker.store.records.runs import find_latest_run
from gitworker.store.records.tips import forget_tips
from gitworker.store.workers import Worker, clear_assignment, load_worker, set_worktree
from gitworker.worktrees.occupied import refuse_occupied
from gitworker.worktrees.prefetched_checks import is_dirty
from gitworker.worktrees.trashing import (
    delete_landed,
    entry_name,
    put_into_trash,
    put_lost_into_trash,
    ready_trash,
    trash_root,
)

Discard = tuple[TrashEntry, str]  # an entry, and the only commit that it should hold
EVENTS = {"cancel": WorkerEvent.CANCEL, "reset": WorkerEvent.RESET}


def is_locked(worker: Worker) -> bool:
    """Return whether the worktree was locked by its user (git-worktree(1))."""
    return worker.admin_dir is not None and is_locked_by_user(worker.admin_dir)


def refuse_stuck(session: Session, worker: Worker) -> None:
    """Raise Refused if the worktree must stay: it is not the worker's own, another worktree or a
    process is in it, or its user locked it.
    """
    owner = owner_of(session.repository.common_dir, worker)
    has_worktree(owner)
    if worker.worktree is not None and worker.admin_dir is not None:
        common_dir = os.path.dirname(os.path.dirname(worker.admin_dir))
        inner = find_inner(linked_places(common_dir), worker.worktree)
        if inner is not None:
            raise Refused(
                f"the worktree {inner} is inside {worker.worktree} and would be removed with it",
                f"git worktree move {quoted(inner)} <directory>"
                f"   # or: git worktree remove {quoted(inner)}",
                code="nested",
            )
    if is_locked(worker):
        raise Refused(
            f"{worker.worktree} is locked",
            f"git worktree unlock {quoted(worker.worktree or '')}",
            code="worktree_locked",
        )
    refuse_occupied(session, worker)


class RemovedWorktree(NamedTuple):
    """A worker whose worktree and branch are removed; `discard` need not be kept.

    `data` is the record of the removal.
    """

    worker: Worker
    data: RemovalData
    discard: Discard | None


class WorkerToRemove(NamedTuple):
    """A worker whose worktree is to be removed; `dirty` is the result of `is_dirty`, if known.

    `known` are commits that need no rescue, since their patches have landed.
    """

    worker: Worker
    dirty: bool | None = None
    known: tuple[str, ...] = ()


def plan_removal(session: Session, worker: Worker, kind: str) -> Operation:
    """Rescue the work that the removal would drop, and write the journal. Removes nothing."""
    (operation,) = plan_removals(session, [WorkerToRemove(worker)], kind)
    return operation


def plan_removals(
    session: Session, removals: Sequence[WorkerToRemove], kind: str
) -> list[Operation]:
    """Plan the removal of several workers in one transaction, as `plan_removal` does."""
    plans = [_plan(session, one, kind) for one in removals]
    with session.store.write_own() as writer:
        if kind in EVENTS:
            for one in removals:
                _require_unchanged(session, writer, one.worker)
        operations = [
            _journal(session, writer, kind, worker=one.worker, data=data)
            for one, data in zip(removals, plans, strict=True)
        ]
    if operations:
        crash_point(f"{kind}.journal")
    return operations


def _require_unchanged(session: Session, writer: Writer, worker: Worker) -> None:
    """Raise Conflict if the worker has changed, Refused if the task's supervised agent is alive.

    It may have started after the first check, or work in another directory. Once the journal is
    written, no agent can start.
    """
    if load_worker(writer, worker.worker_id).version != worker.version:
        raise Conflict(f"{worker.worker_id} has changed meanwhile", "run the command again")
    run = find_latest_run(writer, worker.worker_id)
    pid = living_agent(writer, session.paths, run)
    if run is not None and pid is not None and run.task_id == worker.task_id:
        raise Refused(
            f"an agent works for {worker.worker_id} (process {pid})",
            f"git worker stop {worker.worker_id}",
            code="occupied",
        )


def _plan(session: Session, removal: WorkerToRemove, kind: str) -> RemovalData:
    worker = removal.worker
    ref = worker.ref
    tip = find_tip(session.git, session.repository.common_dir, ref)
    owner = owner_of(session.repository.common_dir, worker)
    has_tree = has_worktree(owner)
    lost = None
    if owner is not None and not has_tree:
        admin_dir = owner.admin_dir if is_lost(owner) else None
        lost = LostWorktree(owner.place, admin_dir)
    dirty = is_dirty(session, worker) if removal.dirty is None else removal.dirty
    if kind == "remove" and not dirty:  # a commit may have been made since the landing was checked
        heads = (tip, find_detached_head(session, worker))
        dirty = not all(has_landed(session, worker, head, removal.known) for head in heads)
    lost_admin = lost.admin_dir if lost is not None else None
    saved = _rescue(session, worker, tip, kind=kind, dirty=dirty, lost_admin=lost_admin)
    is_returned = worker.returned_tip == tip
    return RemovalData(
        ref=ref,
        tip=tip,
        base=worker.base_oid,
        rescue=None if saved is None else str(saved.ref),
        rescued=None if saved is None else saved.oid,
        submodules=_rescue_submodules(session, worker) if has_tree else [],
        worktree=worker.worktree if has_tree else None,
        admin_dir=worker.admin_dir if has_tree else None,
        trash=trash_root(session),
        dirty=dirty,
        state=worker.state.value,
        lost=lost,
        stale_from=worker.stale_from,
        error=worker.last_error,
        returned_by=worker.returned_by if is_returned else None,
        returned_detail=worker.returned_detail if is_returned else None,
    )


def find_detached_head(session: Session, worker: Worker) -> Oid | None:
    """Return the commit of the worktree's detached HEAD; None if HEAD is on a branch."""
    owner = owner_of(session.repository.common_dir, worker)
    if owner is None or not has_worktree(owner):
        return None
    return detached_head(session.git.at(owner.place), owner.admin_dir or "")


def has_landed(session: Session, worker: Worker, commit: str | None, known: Sequence[str]) -> bool:
    """Return whether a commit is one of `known`, or on the branch on which the task lands.

    True for None.
    """
    if commit is None or commit in known:
        return True
    target = find_ref(session.git, session.target_of(worker))
    return target is not None and is_ancestor(session.git, Oid(commit), target)


def _journal(
    session: Session, writer: Writer, kind: str, *, worker: Worker, data: RemovalData
) -> Operation:
    number = begin_operation(
        writer,
        kind,
        worker=worker.worker_id,
        task=worker.task,
        actor=session.actor,
        now=clock.now_ms(),
        data=data,
    )
    return load_operation(writer, number)


def finish_removal(session: Session, operation: Operation) -> RemovedWorktree:
    """Complete a removal that is in the journal: trash, branch, rows. Safe to repeat.

    Raises Refused if the worktree cannot be moved; nothing is changed then, and the operation is
    closed. After any other error the operation stays open.
    """
    (removed,) = remove(session, [operation])
    if isinstance(removed, GitWorkerError):
        raise removed
    discard(session, [] if removed.discard is None else [removed.discard])
    publish_views(session, operation.worker_id)
    return removed


def remove(
    session: Session, operations: Sequence[Operation]
) -> list[RemovedWorktree | GitWorkerError]:
    """Complete several removals, without publishing them and without emptying the trash.

    A refused removal changes nothing; its operation is closed and its error is returned in its
    place. A removal that cannot be finished now stays open for the next command, and its error is
    returned too.
    """
    if not operations:
        return []
    refused: dict[int, GitWorkerError] = {}
    stuck: dict[int, GitWorkerError] = {}
    entries: dict[int, TrashEntry | None] = {}
    with hold(session.worktree_lock, name="worktree"):
        for trash in {trash_of(session, operation) for operation in operations}:
            ready_trash(session, trash)
        for operation in operations:
            try:
                entries[operation.id] = _move_into_trash(session, operation)
            except Refused as error:
                refused[operation.id] = error
            except (GitWorkerError, OSError) as error:
                stuck[operation.id] = as_gitworker_error(error)
        deleted, left = _delete_branches(session, [one for one in operations if one.id in entries])
        stuck |= left
        crash_point(f"{operations[0].kind}.branch")
    # The rest of a landing is this machine's own, except the news of what it left out.
    news = [one.payload(RemovalData).left_out for one in deleted]
    is_own = operations[0].kind == "remove" and not any(news)
    with session.store.write_own() if is_own else session.store.write() as writer:
        done = {one.id: _record(writer, one, entries[one.id]) for one in deleted}
        for operation in operations:
            if operation.id in refused:
                _close(writer, operation, status="rolled_back")
    failed = refused | stuck
    return [done.get(one.id) or failed[one.id] for one in operations]


def _record(writer: Writer, operation: Operation, entry: TrashEntry | None) -> RemovedWorktree:
    worker = load_worker(writer, operation.worker_id)
    data = operation.payload(RemovalData)
    # After a kill, another machine may have taken the worker over or given it its next task.
    is_ours = worker.task_id == operation.task_id
    is_ours &= data.worktree is None or worker.elsewhere is None
    ends = operation.kind in EVENTS and is_ours
    if ends:
        worker = advance(writer, worker, EVENTS[operation.kind], actor=operation.actor)
        release_task(writer, worker)
        clear_assignment(writer, worker.worker_id)
    elif is_ours or worker.elsewhere is not None:
        set_worktree(writer, worker.worker_id, None, admin_dir=None)
    if ends:
        publish_end(writer, operation, rescue=data.rescue)
    elif data.left_out:
        publish_left_out(writer, operation, rescue=data.left_out)
    forget_tips(writer, data.ref)
    _close(writer, operation, status="done")
    stored = load_worker(writer, operation.worker_id)
    landed = operation.kind == "remove" and not data.dirty
    clean = (entry, data.tip) if entry is not None and data.tip and landed else None
    return RemovedWorktree(stored, data, clean)


def discard(session: Session, entries: Sequence[Discard]) -> None:
    """Delete landed worktrees from the trash in the background if they are clean.

    If the pool is on, it is offered them first.
    """
    if session.settings.worktree_link:
        from gitworker.worktrees.populate.links import drop_links  # 2 ms, only if it is set

        for entry, _ in entries:
            drop_links(session, entry.tree)
    if entries and session.settings.worktree_pool and session.settings.worktree_reuse:
        from gitworker.worktrees.pool.hand_out import (
            give_to_pool,  # 3 ms, only with a pool
        )

        give_to_pool(session, entries)
        return
    delete_landed(session, entries)


def carry_out_locked(session: Session, operation: Operation) -> None:
    """Move the worktree to the trash and delete the branch. Safe to repeat.

    The caller holds the worktree lock.
    """
    ready_trash(session, trash_of(session, operation))
    _move_into_trash(session, operation)
    _delete_branch(session, operation)


def _move_into_trash(session: Session, operation: Operation) -> TrashEntry | None:
    data = operation.payload(RemovalData)
    name = entry_name(operation.worker_id, operation.task_id, operation.id)
    entry = None
    lost = data.lost
    if lost is not None and lost.admin_dir is not None:
        put_lost_into_trash(
            trash_of(session, operation), worktree=lost.worktree, admin_dir=lost.admin_dir,
            name=name, ref=data.ref,
        )  # fmt: skip
    if data.worktree:
        entry = put_into_trash(
            session, trash_of(session, operation), worktree=data.worktree,
            admin_dir=data.admin_dir or "", name=name, ref=data.ref,
        )  # fmt: skip
    crash_point(f"{operation.kind}.trashed")
    return entry


def trash_of(session: Session, operation: Operation) -> str:
    """Return the trash that the removal's plan names; the settings may have changed since.

    Raises Refused if the operation belongs to the repository from which this one was copied.
    """
    data = operation.payload(RemovalData)
    if data.worktree and data.admin_dir:
        owner = OwnershipClaim(session.repository.common_dir, data.worktree, data.admin_dir)
        if find_flaw(owner) is Flaw.COPIED:
            raise _not_of_this_copy(operation, owner)
    return data.trash or trash_root(session)


def _not_of_this_copy(operation: Operation, owner: OwnershipClaim) -> Refused:
    """Return the refusal for an operation of the original repository.

    The hint restores the commits in this copy.
    """
    data = operation.payload(RemovalData)
    branch = short_name(data.ref)
    rest = f"; uncommitted work is in {data.rescue}" if data.rescue else ""
    hint = f"git log {data.rescue or ''}"
    if data.tip:
        hint = f"git branch {branch} {data.tip}   # its commits{rest}"
    return Refused(
        f"{operation.kind} {operation.id} removed {owner.place} of the repository that this one was"
        " copied from",
        hint,
        code=f"worktree_{Flaw.COPIED}",
    )


def _rescue(
    session: Session, worker: Worker, tip: Oid | None, *,
    kind: str, dirty: bool, lost_admin: str | None,
) -> RescueRef | None:  # fmt: skip
    """Rescue the commits and files that the removal would drop; of a missing worktree, its index.

    The commits of a landed branch are in the target already, except those that were amended or
    reset away. If the branch does not exist, the worktree's HEAD is rescued instead.
    """
    name, task = worker.worker_id, worker.task
    worktree = worker.worktree if worker.worktree and os.path.isdir(worker.worktree) else None
    admin_dir = worker.admin_dir if worktree is not None else lost_admin
    if kind == "remove" and not dirty:
        if admin_dir is not None and has_abandoned_commits(admin_dir):
            rescue_worktree_only_commits(session.git, worker=name, task=task, admin_dir=admin_dir)
        return None
    if tip is None and worktree is not None:
        tip = last_head(session.git.at(worktree), admin_dir or "")
    if tip is None:
        return None
    saved = rescue(
        session.git, worker=name, task=task, tip=tip, worktree=worktree, lost_admin=lost_admin
    )
    loose = None
    if admin_dir is not None:
        loose = rescue_worktree_only_commits(
            session.git, worker=name, task=task, admin_dir=admin_dir
        )
    if loose is not None and kind != "remove":
        words = f"commits that were amended or reset away are kept under {loose.ref}"
        session.report(Notice(words))
    return saved


def _rescue_submodules(session: Session, worker: Worker) -> list[str]:
    """Rescue commits of the worktree's submodules into the main checkout; return the refs there."""
    if worker.admin_dir is None or not may_have_submodules(worker.admin_dir):
        return []
    from gitworker.repo.worktrees.submodules import (
        rescue_submodules,  # 3 ms, only with submodules
    )

    return rescue_submodules(
        session.git,
        worker=worker.worker_id,
        task=worker.task,
        admin_dir=worker.admin_dir,
    )


def _delete_branches(
    session: Session, operations: Sequence[Operation]
) -> tuple[list[Operation], dict[int, GitWorkerError]]:
    """Delete branches and anchors by one process, or one by one if a branch has moved.

    Returns the operations with their rescue refs, and the errors of branches that stay for now.
    """
    if not operations:
        return [], {}
    plans = [one.payload(RemovalData) for one in operations]
    orders = [f"delete {data.ref} {data.tip}" for data in plans if data.tip is not None]
    anchors = [f"delete {anchor_of(one.worker_id, one.task_id)}" for one in operations]
    if len(orders) == len(operations) and change_refs(
        session.git, [*orders, *anchors], reason="gitworker: remove"
    ):
        return list(operations), {}
    deleted: list[Operation] = []
    stuck: dict[int, GitWorkerError] = {}
    for operation in operations:
        try:
            deleted.append(_delete_branch(session, operation))
        except GitWorkerError as error:
            stuck[operation.id] = error
    drop_anchors(session, deleted)
    return deleted, stuck


def _delete_branch(session: Session, operation: Operation) -> Operation:
    """Delete the branch; commits made after the plan are first rescued and recorded."""
    data = operation.payload(RemovalData)
    ref = data.ref
    if data.tip is not None:
        with suppress(Conflict):
            delete_branch(session.git, ref, data.tip)
            return operation
    tip = find_ref(session.git, ref)
    if tip is None:
        return operation
    if tip != data.tip:
        worker, task = WorkerId(operation.worker_id), TaskId(operation.task_id)
        saved = rescue(session.git, worker=worker, task=task, tip=tip, worktree=None)
        data = data._replace(tip=tip, rescue=str(saved.ref), rescued=saved.oid)
    delete_branch(session.git, ref, tip)
    return operation._replace(data=data)


def _close(writer: Writer, operation: Operation, *, status: str) -> None:
    step = operation.step if status == "rolled_back" else "recorded"
    close_operation(
        writer, operation.id, status=status, step=step, data=operation.data, now=clock.now_ms()
    )
