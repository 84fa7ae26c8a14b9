"""Roll back an adoption: restore branch name, hooks and mark; the work is never touched."""

import os
from contextlib import suppress

from gitworker import clock
from gitworker.branches.replay_branch import drop_anchors
from gitworker.journal.rollback import drop_worktree, may_be_recorded
from gitworker.paths import OWNER_FILE, read_worktree_owner
from gitworker.repo.hooks.install import uninstall_one
from gitworker.repo.plumbing.refs import create_ref, read_refs
from gitworker.repo.worktrees.branch_rename import KeptLog, rename_branch
from gitworker.repo.worktrees.worktree_list import find_admin_dir
from gitworker.session import Session
from gitworker.store.operations import Operation, close_operation, find_operation
from gitworker.store.payloads.payload import AdoptData


def roll_back_adopt(session: Session, operation_id: int) -> None:
    """Undo each finished step of an adoption.

    A worktree that it made is moved to the trash. One that it found stays at its place with all
    its files.
    """
    with session.store.read() as reader:
        operation = find_operation(reader, operation_id)
    if operation is None or operation.status != "open":
        return
    if operation.payload(AdoptData).made:
        drop_worktree(session, operation)
    else:
        release_worktree(session, operation)
    name_back(session, operation)
    with session.store.write_own() as writer:
        close_operation(
            writer, operation.id, status="rolled_back", step=operation.step, data=operation.data,
            now=clock.now_ms(),
        )  # fmt: skip
    drop_anchors(session, [operation])


def give_up_adopt(session: Session, operation_id: int, error: BaseException) -> None:
    """Roll back an adoption that has just failed; if that fails too, the next command does it."""
    with suppress(Exception):
        if not may_be_recorded(session, error):
            roll_back_adopt(session, operation_id)


def release_worktree(session: Session, operation: Operation) -> None:
    """Remove our mark and our hooks from a worktree that is no longer managed."""
    admin_dir = find_admin_dir(session.repository.common_dir, operation.payload(AdoptData).path)
    if admin_dir is None or read_worktree_owner(admin_dir) not in (
        None,
        (operation.worker_id, operation.task_id),
    ):
        return
    uninstall_one(session.git, admin_dir)
    with suppress(FileNotFoundError):
        os.unlink(f"{admin_dir}/{OWNER_FILE}")


def name_back(session: Session, operation: Operation) -> None:
    """Rename the branch and its reflog back, also if a killed git left neither name."""
    data = operation.payload(AdoptData)
    old, new = data.old_ref, data.ref
    if old == new:
        return
    log = log_of_rename(session, operation.id)
    refs = read_refs(session.git, [old, new])
    if old not in refs and new in refs:
        rename_branch(session.git, new, old, log=log)
    elif old not in refs:
        log.clear(new)  # else git does not make `auth` beside the reflog of `auth/login`
        create_ref(session.git, old, data.tip, reason="gitworker: adopt taken back")
    log.put_back(old)


def log_of_rename(session: Session, operation_id: int) -> KeptLog:
    """Return the copy of the reflog that an adoption's rename makes."""
    return KeptLog(
        session.repository.common_dir, f"{session.paths.root}/reflog-of-adopt-{operation_id}"
    )
