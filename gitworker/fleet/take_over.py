"""Take a worker over from another machine of the fleet: its branch, with a worktree here.

The branch is the one that was pushed last; what the other machine has not pushed stays there, in a
worktree that is no longer the worker's.
"""

from __future__ import annotations

import os
from contextlib import suppress

from gitworker.errors import Conflict, GitWorkerError, NotFound
from gitworker.journal.undo.restore import path_exists
from gitworker.lifecycle.rules_take_up import is_at_work
from gitworker.lifecycle.state_files import publish_views
from gitworker.liveness.readings import heartbeat_of, this_moment
from gitworker.liveness.rules_stale import Liveness, heartbeat_age_ms, liveness_of
from gitworker.model.ids import Branch
from gitworker.paths import read_worktree_owner, write_worktree_owner
from gitworker.progress import Notice
from gitworker.repo.hooks.install import install
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.worktrees.worktree_list import check_out, find_admin_dir
from gitworker.session import Session
from gitworker.store.fleet.machines import forget_sessions
from gitworker.store.heartbeats import find_heartbeat
from gitworker.store.workers import Worker, forget_process, load_worker, set_worktree
from gitworker.worktrees.elsewhere import bring_branches
from gitworker.worktrees.populate.populate import populate_worktree


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
    try:
        bring_branches(session, [worker])
    except NotFound as error:
        raise NotFound(
            f"{error.message}, so its commits are there only",
            f"git worker cancel {name}   # or, on {machine}: git worker resume {name}",
            code=error.code,
        ) from error
    place = f"{session.worktree_root}/{worker.task}"
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
    mark = (worker.worker_id, worker.task)
    admin_dir = find_admin_dir(session.repository.common_dir, place)
    if admin_dir is not None and read_worktree_owner(admin_dir) == mark:
        return admin_dir
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
