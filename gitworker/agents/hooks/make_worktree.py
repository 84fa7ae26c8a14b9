"""WorktreeCreate and WorktreeRemove of Claude Code: its worktrees belong to workers.

A worktree is made by `spawn`. It is removed only if that loses nothing; the removal is a `cancel`,
so even then `undo` brings it back.
"""

import os

from gitworker.agents.hooks.rules_worktree import removal_refusal, tasks_of, worker_of
from gitworker.errors import NotFound, Refused
from gitworker.model.ids import TaskId, WorkerId
from gitworker.paths import find_top, read_worktree_owner
from gitworker.repo.plumbing.refs import find_tip
from gitworker.repo.status.checkout_status import open_operation, read_status
from gitworker.repo.worktrees.ownership import is_present, owner_of
from gitworker.rules_text import count_text
from gitworker.session import Session
from gitworker.store.tasks import find_task
from gitworker.store.workers import Worker, find_worker
from gitworker.workers.cancel import cancel
from gitworker.workers.spawn import SpawnRequest, refill_pool, spawn
from gitworker.worktrees.removal import find_detached_head, has_landed, is_locked


def make_worktree(session: Session, name: str) -> str:
    """Return the path of a worktree with this name: the worker's present one, or a new one.

    Raises GitWorkerError if no worker can be made; the agent makes no worktree then.
    """
    worker = worker_of(name)
    with session.store.read() as reader:
        found = find_worker(reader, worker)
    owner = owner_of(session.repository.common_dir, found) if found is not None else None
    if owner is not None and is_present(owner):
        return owner.place
    spawned = spawn(session, SpawnRequest(worker, _free_task(session, worker, name)))
    refill_pool(session)
    return spawned.path


def remove_worktree(session: Session, path: str) -> str:
    """Remove a worker's worktree that has no work of its own; return the worker.

    Raises Refused for every other one, and NotFound if no worker has it; the agent keeps it then.
    """
    repository = find_top(path)
    owner = read_worktree_owner(repository.git_dir) if repository is not None else None
    with session.store.read() as reader:
        worker = find_worker(reader, owner[0]) if owner is not None else None
    if worker is None or worker.worktree is None or not os.path.samefile(worker.worktree, path):
        raise NotFound(f"{path} is not the worktree of a worker", "git worker list")
    unsaved = find_unsaved_work(session, worker)
    refusal = removal_refusal(worker.worker_id, path, unsaved=unsaved, is_locked=is_locked(worker))
    if refusal is not None:
        raise refusal
    os.chdir(session.repository.common_dir)  # a process in the worktree would keep it
    cancel(session, worker.worker_id)
    return worker.worker_id


def find_unsaved_work(session: Session, worker: Worker) -> str | None:
    """Return a description of the work in a worktree that has not landed, or None."""
    assert worker.worktree is not None
    if worker.admin_dir is not None and (busy := open_operation(worker.admin_dir)) is not None:
        return f"a {busy} is open"
    status = read_status(session.git.at(worker.worktree))
    if not status.is_clean:
        number = len(status.paths) + len(status.untracked_paths)
        return f"{count_text(number, 'file')} not committed"
    tip = find_tip(session.git, session.repository.common_dir, worker.ref)
    if tip is None:
        return f"its branch {worker.branch} does not exist"
    if not all(
        has_landed(session, worker, head, ()) for head in (tip, find_detached_head(session, worker))
    ):
        return "it has commits that have not landed"
    return None


def _free_task(session: Session, worker: WorkerId, name: str) -> TaskId:
    with session.store.read() as reader:
        for task in tasks_of(name):
            if find_task(reader, task) is None:
                return task
    raise Refused(f"worker {worker} has had too many tasks called {name}", "git worker list")
