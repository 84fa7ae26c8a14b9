"""Restoring the branch and the worktree of a worker, and the refusals for both."""

import os
from contextlib import suppress

from gitworker.crashpoint import crash_point
from gitworker.errors import GitWorkerError, NotFound, Refused
from gitworker.journal.undo.reassign import (
    RestoredWorker,
)
from gitworker.journal.undo.rules_undo import undo_refusal
from gitworker.model.ids import Ref
from gitworker.model.ref_names import short_name
from gitworker.paths import read_worktree_owner, write_worktree_owner
from gitworker.repo.hooks.install import install
from gitworker.repo.plumbing.refs import create_ref, find_head_ref, find_ref
from gitworker.repo.rescue.rescue_refs import unpack
from gitworker.repo.rescue.trash import restore_admin, restore_from_trash
from gitworker.repo.worktrees.ownership import find_named
from gitworker.repo.worktrees.worktree_list import (
    check_out,
    find_admin_dir,
    is_half_made,
)
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.operations import Operation
from gitworker.store.payloads.payload import RemovalData
from gitworker.store.workers import (
    Worker,
)
from gitworker.worktrees.populate.populate import populate_worktree
from gitworker.worktrees.removal import trash_of
from gitworker.worktrees.trashing import entry_name, find_entry, set_aside


def worker_refusal(worker: Worker, done: Operation) -> GitWorkerError | None:
    """Return why an operation on the worker can no longer be undone, or None."""
    return undo_refusal(
        done.kind,
        worker=worker.worker_id,
        state=worker.state,
        same_task=worker.task_id == done.task_id,
    )


def bring_back(
    session: Session, restored: RestoredWorker, removal: Operation | None
) -> Operation | None:
    """Restore branch and worktree; return the removal, which records whether unpacking failed.

    The worktree is moved out of the trash. If it was deleted there, a new one is made, with the
    uncommitted work that a rescue ref kept but without ignored files. The caller holds the worktree
    lock. Raises Refused if the path is occupied.
    """
    place = restored.worktree
    entry = None
    if removal is not None:
        name = entry_name(removal.worker_id, removal.task_id, removal.id)
        entry = find_entry(trash_of(session, removal), name)
    is_lost = entry is not None and not os.path.lexists(entry.tree)
    is_back = is_lost and entry is not None and _names(place or "", entry.admin_dir)
    if entry is not None and place and os.path.lexists(place) and not is_back:
        raise path_exists(place)
    if restored.tip and find_ref(session.git, restored.ref) is None:
        create_ref(session.git, restored.ref, restored.tip, reason="gitworker: undo")
    if entry is not None and is_back:
        restore_admin(entry)  # its files were moved by hand, and are back at their place
    elif entry is not None and not is_lost:
        with suppress(NotFound):  # landed and clean: it is being deleted, and is made again below
            restore_from_trash(entry)
    if place and not _is_marked(session, place):
        _make_again(session, restored, place)
        crash_point("undo.made")
        if removal is not None:
            removal = _unpack(session, restored, removal)
    if place and not _is_ours(session, restored, place):
        raise path_exists(place)
    return removal


def _unpack(session: Session, restored: RestoredWorker, removal: Operation) -> Operation:
    """Unpack the uncommitted work into the new worktree; return the removal with the result."""
    data = removal.payload(RemovalData)
    if not data.rescued or restored.tip is None or restored.tip == data.rescued:
        return removal
    unpacked = unpack(session.git.at(restored.worktree or ""), data.rescued, tip=restored.tip)
    crash_point("undo.unpacked")
    return removal._replace(data=data._replace(unpacked=unpacked))


def _names(place: str, admin_dir: str) -> bool:
    """Return whether the `.git` file in a directory names this admin directory, existing or not."""
    return not os.path.lexists(admin_dir) and find_named(place) == os.path.realpath(admin_dir)


def _is_marked(session: Session, place: str) -> bool:
    """Return whether a place is a worktree with a worker's mark, which is written last."""
    admin_dir = find_admin_dir(session.repository.common_dir, place)
    return admin_dir is not None and read_worktree_owner(admin_dir) is not None


def _make_again(session: Session, restored: RestoredWorker, place: str) -> None:
    """Make a worktree for the branch; an incomplete one of a killed git is set aside."""
    admin_dir = find_admin_dir(session.repository.common_dir, place)
    if admin_dir is not None and is_half_made(admin_dir):
        for left in (admin_dir, place):
            set_aside(session, left, f"{restored.worker_id}-{restored.task_id}")
    if os.path.isdir(place):
        return
    workers = session.settings.checkout_workers
    branch = short_name(restored.ref)
    check_out(session.git, path=place, branch=branch, workers_setting=workers)
    with suppress(GitWorkerError, OSError):  # the user can populate it by hand
        populate_worktree(session, place, is_warm=False)


def path_exists(place: str) -> Refused:
    """Return the refusal for a path that something else occupies."""
    return Refused(
        f"{place} is in the way", f"mv {quoted(place)} {quoted(place)}.old", code="path_exists"
    )


def _is_ours(session: Session, restored: RestoredWorker, place: str) -> bool:
    """Return whether a place holds the worker's own worktree; if it does, set it up."""
    admin_dir = find_admin_dir(session.repository.common_dir, place)
    mark = None if admin_dir is None else read_worktree_owner(admin_dir)
    if admin_dir is None or mark not in (None, (restored.worker_id, restored.task_id)):
        return False
    git = session.git.at(place)
    # A worktree with the worker's mark was restored unchanged; the user may have switched branches.
    if mark is None and find_head_ref(git) not in (None, restored.ref):
        return False
    write_worktree_owner(admin_dir, restored.worker_id, restored.task_id)
    install(session.git, session.repository, git)
    return True


def branch_refusal(ref: Ref) -> Refused:
    """Return the refusal for a branch that has moved since the operation: it has new work."""
    name = short_name(ref)
    return Refused(
        f"the branch {name} has changed since; an undo would drop its new commits",
        f"git log {name}",
        code="branch_moved",
    )
