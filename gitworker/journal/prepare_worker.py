"""Prepare a worker for a task: remove a left worktree, roll back interrupted spawns."""

from gitworker.lifecycle.rules import assigns_worker, is_landed
from gitworker.model.ids import TaskId, WorkerId
from gitworker.model.ref_names import short_name
from gitworker.progress import Notice
from gitworker.repo.plumbing.refs import find_tip
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.operations import find_last_operation, unfinished_operations
from gitworker.store.workers import Worker, find_worker


def remove_landed_worktree(
    session: Session, worker_id: WorkerId, *, start: str | None = None
) -> None:
    """Remove the worktree of a landed task if a process in it prevented its removal.

    A worktree that was kept on purpose (`merge --keep`) stays, and belongs to the user from now on.
    Commits on its branch since the landing are reported, unless the new task starts `start` there.
    """
    with session.store.read() as reader:
        worker = find_worker(reader, worker_id)
        if worker is None or not is_landed(worker.state) or worker.worktree is None:
            return
        if worker.branch and short_name(start or "") != worker.branch:
            _report_later_commits(session, reader, worker)
        landing = find_last_operation(reader, "merge", worker=worker.worker_id, task=worker.task_id)
    if landing is not None:
        from gitworker.store.payloads.payload import MergeData  # 2 ms, only if a worktree is left

        if landing.payload(MergeData).keep:
            return
    from gitworker.journal.finish_landing import (  # 20 ms, only if a worktree is left
        LandedWorker,
        remove_landed,
    )
    from gitworker.journal.recover import finish_interrupted, require_ended
    from gitworker.worktrees.removal import discard

    with hold(session.landing_lock, name="landing"):
        finish_interrupted(session)
        require_ended(session, worker.worker_id)
        (cleaned,) = remove_landed(session, [LandedWorker(worker)])
        discard(session, [] if cleaned.discard is None else [cleaned.discard])


def _report_later_commits(session: Session, reader: Reader, worker: Worker) -> None:
    """Report the commits that a landed worker leaves on its branch for its next task."""
    from gitworker.observe.next_step.later_commits import (  # 3 ms, only if a worktree is left
        new_owner,
        read_later_commits,
    )

    tip = find_tip(session.git, session.repository.common_dir, worker.ref)
    later = read_later_commits(reader, session, worker, tip)
    if later is not None:
        command = new_owner(
            reader, worker.worker_id, None, task=worker.task, branch=str(worker.branch)
        )
        session.report(Notice(f"{later.words}: {command}"))


def roll_back_spawns(session: Session, *, worker: WorkerId, task: TaskId) -> None:
    """Roll back killed spawns and adoptions; raise Conflict if one of the worker or task remains.

    The caller holds the worktree lock.
    """
    with session.store.read() as reader:
        if not any(assigns_worker(one.kind) for one in unfinished_operations(reader)):
            return
    from gitworker.journal.recover import finish_spawns, require_rolled_back  # 20 ms, after a kill

    finish_spawns(session)
    require_rolled_back(session, worker=worker, task=task)
