"""Follow the other machines of a fleet: the target, the workers' files, the landed worktrees.

A background job of the link runs this after other machines have changed workers.
"""

from __future__ import annotations

from contextlib import suppress

from gitworker.branches.remote import follow_remote, open_remote
from gitworker.errors import GitWorkerError
from gitworker.journal.prepare_worker import remove_landed_worktree
from gitworker.lifecycle.rules import is_landed
from gitworker.lifecycle.state_files import publish_views
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.session import Session
from gitworker.store.fleet.machines import changed_workers, find_followed, set_followed
from gitworker.store.workers import Worker, find_worker
from gitworker.worktrees.elsewhere import leave_former_place


def follow_fleet(session: Session) -> None:
    """Bring this machine to what the others have recorded; repeats until nothing is new.

    A target that cannot move, since its checkout has changes, is left to the next landing here.
    """
    while True:
        with session.store.read() as reader:
            after = find_followed(reader)
            until, names = changed_workers(reader, after)
            workers = [find_worker(reader, name) for name in names]
        if until == after:
            return
        landed = [one for one in workers if one is not None and is_landed(one.state)]
        if landed:
            _follow_target(session)
            _remove_landed(session, landed)
        for one in workers:
            if one is not None and one.elsewhere is not None:
                with suppress(GitWorkerError, OSError):
                    leave_former_place(session, one)
        publish_views(session, *names)
        set_followed(session.store, until)


def _follow_target(session: Session) -> None:
    """Fetch the target and move it forward here; not at all if that is not possible now."""
    with suppress(GitWorkerError):
        remote = open_remote(session)
        if remote is None:
            return
        with hold(session.landing_lock, name="landing"):
            follow_remote(session, remote.fetch())


def _remove_landed(session: Session, landed: list[Worker]) -> None:
    for worker in landed:
        with suppress(GitWorkerError):  # an agent still works there; the next spawn removes it
            remove_landed_worktree(session, worker.worker_id)
