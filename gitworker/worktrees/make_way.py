"""Free the path of a new worktree: an older worktree of the same task is moved aside."""

import os
from contextlib import suppress

from gitworker.errors import Refused
from gitworker.paths import unlock_worktree_of_agent
from gitworker.progress import Notice
from gitworker.repo.plumbing.git import GitFailed
from gitworker.rules_text import count_text, quoted
from gitworker.session import Session
from gitworker.store.operations import last_operation_on
from gitworker.store.workers import Worker, find_worker_of_task
from gitworker.worktrees.moved_worktrees import record_place


def make_room(session: Session, *, worker: str, task: str) -> str:
    """Return a free path for a task's new worktree.

    An older worktree of the same task is moved to `<task>@<its worker>`. If its agent runs, or git
    does not move it (locked, or with submodules), it stays, and the new path is `<task>@<worker>`.
    The same after the reset of another worker: its agent may still work in the old path, and its
    commands would count for the new worker there. Raises Refused if something else occupies the
    path.
    """
    path = f"{session.worktree_root}/{task}"
    if not os.path.lexists(path):
        with session.store.read() as reader:
            taken = last_operation_on(reader, "reset", task=task)
        if taken is None or taken.worker_id == worker:
            return path
        return _beside(path, worker)
    with session.store.read() as reader:
        older = find_worker_of_task(reader, task)
    from gitworker.repo.worktrees.ownership import find_flaw, owner_of  # 10 ms, as below

    owner = older and owner_of(session.repository.common_dir, older)
    if older is None or owner is None or owner.place != path or find_flaw(owner) is not None:
        raise _taken(path)
    from gitworker.worktrees.occupied import (
        refuse_occupied,
        refuse_running,
    )  # 10 ms, if something is in the way

    aside = f"{path}@{older.worker_id}"
    try:
        refuse_occupied(session, older)
        refuse_running(session, older)
    except Refused:  # it stays
        pass
    else:
        if os.path.lexists(aside):
            raise _taken(aside)
        if older.admin_dir is not None:
            unlock_worktree_of_agent(older.admin_dir)  # the lock of an agent that has ended
        kept = _uncommitted(session, older)
        with suppress(GitFailed):
            session.git.run("worktree", "move", "--", path, aside)
            record_place(session, older, aside)
            session.report(Notice(f"the worktree of {older.worker_id} is at {aside} now{kept}"))
    if not os.path.lexists(path):
        return path
    return _beside(path, worker)


def _uncommitted(session: Session, worker: Worker) -> str:
    """Return the uncommitted files that are moved with a worktree, in words; "" without any."""
    from gitworker.observe.text import few_files  # as above
    from gitworker.worktrees.left_out import find_left_out

    left = find_left_out(session, worker)
    if left is None:
        return ""
    return f", with {count_text(len(left.files), 'uncommitted file')} ({few_files(left.files)})"


def _beside(path: str, worker: str) -> str:
    beside = f"{path}@{worker}"
    if os.path.lexists(beside):
        raise _taken(beside)
    return beside


def _taken(path: str) -> Refused:
    return Refused(
        f"{path} is in the way", f"mv {quoted(path)} {quoted(path)}.old", code="path_exists"
    )
