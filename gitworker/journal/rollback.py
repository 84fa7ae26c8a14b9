"""Roll back a spawn: move its worktree to the trash, delete its branch, close the operation."""

import os
from contextlib import suppress

from gitworker import clock
from gitworker.errors import UNREACHABLE, GitWorkerError, Refused, Unavailable
from gitworker.model.ids import TaskId, WorkerId
from gitworker.model.ref_names import ref_of
from gitworker.paths import read_worktree_owner
from gitworker.repo.plumbing.refs import delete_branch, read_refs
from gitworker.repo.rescue.rescue_refs import rescue
from gitworker.repo.worktrees.ownership import find_named, is_inside
from gitworker.repo.worktrees.worktree_list import find_admin_dir
from gitworker.session import Session
from gitworker.store.operations import Operation, close_operation, find_operation
from gitworker.store.payloads.payload import AdoptData
from gitworker.store.payloads.spawn_data import SpawnData
from gitworker.worktrees.occupied import refuse_move
from gitworker.worktrees.trashing import (
    entry_name,
    put_into_trash,
    ready_trash,
    set_aside,
    trash_root,
)


def roll_back_spawn(session: Session, operation_id: int) -> None:
    """Undo each finished step of a spawn; a commit made there since is kept by a rescue ref."""
    with session.store.read() as reader:
        operation = find_operation(reader, operation_id)
    if operation is None or operation.status != "open":
        return
    drop_worktree(session, operation)
    _drop_claimed(session, operation)
    _drop_branch(session, operation)
    with session.store.write_own() as writer:
        close_operation(
            writer, operation.id, status="rolled_back", step=operation.step, data=operation.data,
            now=clock.now_ms(),
        )  # fmt: skip


def give_up_spawn(session: Session, operation_id: int, error: BaseException) -> None:
    """Roll back a spawn that has just failed; if that fails too, the next command does it."""
    with suppress(Exception):
        if not may_be_recorded(session, error):
            roll_back_spawn(session, operation_id)


def may_be_recorded(session: Session, error: BaseException) -> bool:
    """Return whether the fleet may have recorded an operation that has failed here.

    The next command asks the fleet then, before it rolls anything back.
    """
    if session.store.fleet_machine is None:
        return False
    if isinstance(error, Unavailable):
        return error.code != UNREACHABLE
    return not isinstance(error, GitWorkerError)  # an interrupt


def drop_worktree(session: Session, operation: Operation) -> None:
    """Move the worktree that an operation made, perhaps only in part, to the trash."""
    is_spawn = operation.kind == "spawn"
    data = operation.payload(SpawnData) if is_spawn else operation.payload(AdoptData)
    path = data.path
    name = entry_name(operation.worker_id, operation.task_id, operation.id)
    admin_dir = find_admin_dir(session.repository.common_dir, path)
    if admin_dir and read_worktree_owner(admin_dir) not in (
        None,
        (operation.worker_id, operation.task_id),
    ):
        return  # it belongs to another worker now
    unfinished = admin_dir is None or os.path.lexists(f"{admin_dir}/locked")  # git's own mark
    if admin_dir is not None and not unfinished and os.path.isfile(f"{path}/.git"):
        ref = ref_of(data.branch)
        trash = trash_root(session)
        ready_trash(session, trash)
        try:
            put_into_trash(session, trash, worktree=path, admin_dir=admin_dir, name=name, ref=ref)
            return
        except Refused as refusal:
            if refusal.code != "unmovable":
                raise
    if os.path.isdir(path):
        refuse_move(session, path, admin_dir)
    named = find_named(path)
    is_foreign = named is not None and not is_inside(session.repository.common_dir, named)
    if named is not None and admin_dir and os.path.realpath(admin_dir).startswith(named):
        is_foreign = False  # a killed git wrote only the first part of the path
    for left in filter(None, (admin_dir, None if is_foreign else path)):
        if os.path.isdir(left):
            set_aside(session, left, name)


def _drop_claimed(session: Session, operation: Operation) -> None:
    """Move the rest of a parked worktree that the spawn had claimed to the trash."""
    pool = operation.payload(SpawnData).pool
    if pool is not None:
        from gitworker.worktrees.pool.hand_out import claim_name  # only with a pool

        claimed = f"{pool}/{claim_name(operation.id)}"
        if os.path.isdir(claimed):
            set_aside(
                session, claimed, entry_name(operation.worker_id, operation.task_id, operation.id)
            )


def _drop_branch(session: Session, operation: Operation) -> None:
    data = operation.payload(SpawnData)
    ref = ref_of(data.branch)
    tip = read_refs(session.git, [ref]).get(ref)
    if tip is None:
        return
    if tip != data.base:
        rescue(
            session.git,
            worker=WorkerId(operation.worker_id),
            task=TaskId(operation.task_id),
            tip=tip,
            worktree=None,
        )
    delete_branch(session.git, ref, tip)
