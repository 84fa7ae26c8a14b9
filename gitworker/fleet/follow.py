"""Follow the other machines of a fleet: the target, the workers' files, landed worktrees, reviews.

A background job of the link runs this after other machines have changed workers.
"""

from __future__ import annotations

from contextlib import suppress

from gitworker.branches.remote import follow_remote, open_remote
from gitworker.errors import Conflict, GitWorkerError
from gitworker.fleet.hand_ins import make_hand_ins
from gitworker.journal.prepare_worker import remove_landed_worktree
from gitworker.lifecycle.rules import is_landed
from gitworker.lifecycle.state_files import publish_views
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.review.round_refs import keep_rounds
from gitworker.session import Session
from gitworker.store.fleet.machines import changed_workers, find_followed, set_followed
from gitworker.store.reviewing.rounds import rounds_of
from gitworker.store.workers import Worker, find_worker
from gitworker.worktrees.elsewhere import (
    bring_handed_in,
    drop_copies,
    leave_former_place,
    leave_freed_place,
)


def follow(session: Session) -> None:
    """Make the hand-ins that were put off, and follow the others; one job does it at a time.

    The link starts the job again until nothing is left, so that a job which comes too early for
    the running one to notice its news may end at once.
    """
    with suppress(Conflict), hold(f"{session.paths.locks}/follow", name="follow", timeout_s=0):
        make_hand_ins(session)
        _follow_fleet(session)


def _follow_fleet(session: Session) -> None:
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
        for one in filter(None, workers):
            for step in (_follow_elsewhere, leave_freed_place, drop_copies):
                with suppress(GitWorkerError, OSError):  # fsck names what is left
                    step(session, one)
        publish_views(session, *names)
        set_followed(session.store, until)


def _follow_elsewhere(session: Session, worker: Worker) -> None:
    """Remove the former worktree here of a worker of another machine; fetch what it handed in.

    A review of it waits for no network then. Its rounds are kept, since the author may amend them
    away before anybody reads the review here.
    """
    if worker.elsewhere is None:
        return
    with suppress(GitWorkerError, OSError):
        leave_former_place(session, worker)
    with session.store.read() as reader:
        rounds = rounds_of(reader, worker.worker_id, worker.task_id)
    if rounds:
        bring_handed_in(session, worker)
        keep_rounds(session, worker, rounds)


def _follow_target(session: Session) -> None:
    """Fetch the target and move it forward here; not at all if that is not possible now."""
    with suppress(GitWorkerError):
        remote = open_remote(session)
        if remote is None:
            return
        tip = remote.fetch()  # without the lock: a network may take long
        with hold(session.landing_lock, name="landing"):
            follow_remote(session, tip)


def _remove_landed(session: Session, landed: list[Worker]) -> None:
    for worker in landed:
        with suppress(GitWorkerError):  # an agent still works there; the next spawn removes it
            remove_landed_worktree(session, worker.worker_id)
