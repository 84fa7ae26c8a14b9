"""Find the worker that a command names: by id, task, branch or the current worktree."""

from gitworker.bus.caller.identity import ambiguous_caller
from gitworker.errors import NotFound
from gitworker.model.ids import HQ
from gitworker.model.ref_names import short_name
from gitworker.session import Session
from gitworker.states.task_machine import without_worker
from gitworker.store.api import Reader
from gitworker.store.tasks import find_task
from gitworker.store.workers import (
    Worker,
    all_workers,
    find_worker,
    find_worker_of_branch,
    find_worker_of_task,
)


def require_worker(reader: Reader, name: str | None, session: Session) -> Worker:
    """Return the worker that `name` means: a worker id, else a task id, else a branch.

    Without a name it is the worker that runs the command. Raises NotFound, whose hint lists
    workers, and Refused without a name if GITWORKER_ID and the worktree name two workers.
    """
    if name is None:
        if session.actor == HQ:
            raise NotFound(
                "no worker was named, and this directory is not in a worker's worktree",
                "git worker list",
            )
        if session.other_worker is not None:
            raise ambiguous_caller(session.actor, session.other_worker)
        name = session.actor
    found = _find_named(reader, name)
    if found is None and (stored := find_task(reader, name)) is not None:
        raise without_worker(stored.id, stored.status)
    if found is None:
        names = [worker.worker_id for worker in all_workers(reader)]
        shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        raise NotFound(
            f"no worker, task or branch is called {ascii(name)[:80]}",
            f"git worker list   # there {'is ' + shown if names else 'are no workers yet'}",
        )
    return found


def is_known(reader: Reader, name: str) -> bool:
    """Return whether a name means a worker or a task."""
    return _find_named(reader, name) is not None or find_task(reader, name) is not None


def _find_named(reader: Reader, name: str) -> Worker | None:
    return (
        find_worker(reader, name)
        or find_worker_of_task(reader, name)
        or find_worker_of_branch(reader, short_name(name))
    )
