"""Take a worker over from another machine of the fleet: its branch, with a worktree here.

The branch is the one that was pushed last; what the other machine has not pushed stays there, in a
worktree that is no longer the worker's.
"""

from __future__ import annotations

import os
from contextlib import suppress

from gitworker.errors import Conflict, GitWorkerError, NotFound, Refused
from gitworker.journal.undo.restore import path_exists
from gitworker.lifecycle.rules_take_up import is_at_work
from gitworker.lifecycle.state_files import publish_views
from gitworker.liveness.readings import heartbeat_of, this_moment
from gitworker.liveness.rules_stale import Liveness, heartbeat_age_ms, liveness_of
from gitworker.model.ids import Branch
from gitworker.paths import is_locked_by_user, read_worktree_owner, write_worktree_owner
from gitworker.progress import Notice
from gitworker.repo.hooks.install import install
from gitworker.repo.plumbing.refs import find_tip
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.rescue.rescue_refs import rescue, rescue_worktree_only_commits
from gitworker.repo.worktrees.ownership import (
    Flaw,
    OwnershipClaim,
    find_flaw,
    require_owned,
)
from gitworker.repo.worktrees.worktree_list import check_out, find_admin_dir
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.fleet.machines import forget_sessions
from gitworker.store.heartbeats import find_heartbeat
from gitworker.store.workers import Worker, forget_process, load_worker, set_worktree
from gitworker.worktrees.elsewhere import bring_branches
from gitworker.worktrees.populate.populate import populate_worktree
from gitworker.worktrees.trashing import set_aside


def take_over(session: Session, worker: Worker) -> Worker:
    """Move a worker's worktree to this machine; return its present row.

    Does nothing for a worker of this machine. Raises Conflict while its agent reports signs of life
    there, NotFound if its branch was never pushed, Refused if the place of the worktree is taken.
    """
    if worker.elsewhere is None:
        return worker
    name, machine = worker.worker_id, worker.elsewhere
    if is_at_work(worker.state) and _is_alive(session, worker):
        raise Conflict(
            f"{name} is at work on the machine {machine}",
            f"git worker stop {name}   # or wait for it: git worker wait {name}",
            code="at_work_elsewhere",
        )
    place = f"{session.worktree_root}/{worker.task}"
    with hold(session.worktree_lock, name="worktree"):
        _forget_lost(session, worker, place)
    try:
        bring_branches(session, [worker])
    except NotFound as error:
        raise NotFound(
            f"{error.message}, so its commits are there only",
            f"git worker cancel {name}   # or, on {machine}: git worker resume {name}",
            code=error.code,
        ) from error
    with hold(session.worktree_lock, name="worktree"):
        admin_dir = _make(session, worker, place)
        with session.store.write() as writer:
            current = load_worker(writer, name)
            if current.elsewhere != machine or current.version != worker.version:
                raise Conflict(f"{name} has changed meanwhile", "run the command again")
            forget_process(writer, name)
            forget_sessions(writer, name, current.task)
            set_worktree(writer, name, place, admin_dir=admin_dir)
            taken = load_worker(writer, name)
    session.report(Notice(f"took {name} over from {machine}: {place}"))
    publish_views(session, name)
    return taken


def _is_alive(session: Session, worker: Worker) -> bool:
    """Return whether the worker's process was recorded and has reported signs of life lately."""
    with session.store.read() as reader:
        found = find_heartbeat(reader, worker.worker_id)
    if worker.pid is None or found is None:
        return False
    age_ms = heartbeat_age_ms(heartbeat_of(found), this_moment())
    return liveness_of(age_ms, session.settings) in (Liveness.OK, Liveness.WARN)


def _make(session: Session, worker: Worker, place: str) -> str:
    """Return the admin directory of the worktree, made now or by a killed command before."""
    claim = _claim(session, worker, place)
    if claim is not None:
        require_owned(claim)
        return claim.admin_dir or ""
    if os.path.lexists(place):
        raise path_exists(place)
    admin_dir = check_out(
        session.git,
        path=place,
        branch=Branch(worker.branch or ""),
        workers_setting=session.settings.checkout_workers,
    )
    write_worktree_owner(admin_dir, worker.worker_id, worker.task)
    install(session.git, session.repository, session.git.at(place))
    with suppress(GitWorkerError, OSError):  # the user can populate it by hand
        populate_worktree(session, place, is_warm=False)
    return admin_dir


def _claim(session: Session, worker: Worker, place: str) -> OwnershipClaim | None:
    """Return what git records here of the worker's worktree; None if it records none."""
    common_dir = session.repository.common_dir
    admin_dir = find_admin_dir(common_dir, place)
    if admin_dir is None or read_worktree_owner(admin_dir) != (worker.worker_id, worker.task):
        return None
    return OwnershipClaim(common_dir, place, admin_dir)


def _forget_lost(session: Session, worker: Worker, place: str) -> None:
    """Remove git's record of a deleted worktree; what only that has is kept in rescue refs.

    Raises Refused if its user has locked it, for example on a disk that is not mounted.
    """
    claim = _claim(session, worker, place)
    if claim is None or claim.admin_dir is None or find_flaw(claim) is not Flaw.MISSING:
        return
    if is_locked_by_user(claim.admin_dir):
        raise Refused(
            f"{place} is locked, and it is not there",
            f"git worktree unlock {quoted(place)}   # if it was deleted",
            code="worktree_locked",
        )
    name, task = worker.worker_id, worker.task
    tip = find_tip(session.git, session.repository.common_dir, worker.ref)
    if tip is not None:
        saved = rescue(
            session.git, worker=name, task=task, tip=tip, worktree=None, lost_admin=claim.admin_dir
        )
        if saved.oid != tip:
            session.report(Notice(f"what was staged in {place} is in {saved.ref}"))
    rescue_worktree_only_commits(session.git, worker=name, task=task, admin_dir=claim.admin_dir)
    set_aside(session, claim.admin_dir, f"{name}-{task}")
