"""Start a worker on another worker's branch: resolve `spawn --from NAME`."""

from typing import NamedTuple

from gitworker.branches.rules_stack import is_active
from gitworker.errors import NotFound, Refused
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import ALL, BRANCHES, TAGS, short_name
from gitworker.repo.plumbing.refs import find_tip
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.stacks import Stack, parents_of
from gitworker.store.workers import (
    Worker,
    find_worker,
    find_worker_of_branch,
    find_worker_of_task,
)


class Parent(NamedTuple):
    """The worker on which another one is started, and the tip of its branch."""

    worker: Worker
    tip: Oid


def find_parent(session: Session, name: str, *, worker: str, task: str) -> Parent | None:
    """Return the active worker that `name` means for `worker`, which is about to get `task`.

    `name` is a worker id, a task id or a branch. Return None for other names, and for a full ref,
    which always means only a commit. Raises Refused if it also names another commit, or if the
    parent itself is stacked on this task; NotFound if the parent's branch does not exist.
    """
    if name.startswith(ALL):
        return None
    with session.store.read() as reader:
        found = _find_active(reader, name)
        is_cycle = found is not None and _leads_to(reader, found, worker=worker, task=task)
    if found is None or found.branch is None:
        return None
    if is_cycle:
        raise Refused(
            f"{found.worker_id} is itself stacked on {task} of {worker}",
            f"git worker spawn {worker} {task} --from {BRANCHES}{found.branch}"
            f"   # once {found.worker_id} has dropped it by: git worker sync",
            code="stacked_in_a_circle",
        )
    if session.aimed_at(found.lands_on).target != session.target:
        raise Refused(
            f"{found.worker_id} lands on {short_name(session.target_of(found))} and {task} on"
            f" {session.target_name}, so {worker} cannot be stacked on it",
            f"git worker spawn {worker} {task} --from {BRANCHES}{found.branch}"
            "   # its commits become your own",
            code="other_target",
        )
    common_dir = session.repository.common_dir
    tip = find_tip(session.git, common_dir, found.ref)
    if tip is None:
        raise NotFound(
            f"branch {found.branch} does not exist", f"git worker show {found.worker_id}"
        )
    for prefix in (BRANCHES, TAGS):
        if name == found.branch:
            break
        other = find_tip(session.git, common_dir, Ref(prefix + name))
        if other is not None and session.git.find_oid(other) != tip:
            raise Refused(
                f"{name} is a worker or its task, and also {prefix}{name}",
                f"git worker spawn --from {prefix}{name} <worker> <task>"
                f"   # or: --from {found.branch}",
                code="ambiguous_start",
            )
    return Parent(found, tip)


def stack_of(parent: Parent, *, worker: str, task: str) -> Stack:
    """Return the stack record of a worker that was started on a parent."""
    branch, parent_task = parent.worker.branch or "", parent.worker.task
    return Stack(worker, task, parent.worker.worker_id, parent_task, branch, parent.tip)


def _find_active(reader: Reader, name: str) -> Worker | None:
    found = (
        find_worker(reader, name)
        or find_worker_of_task(reader, name)
        or find_worker_of_branch(reader, name)
    )
    return found if found is not None and is_active(found.state) else None


def _leads_to(reader: Reader, start: Worker, *, worker: str, task: str) -> bool:
    """Return True if a worker is stacked, directly or indirectly, on another's task."""
    stacks = parents_of(reader)
    prefix: tuple[str, str] = (start.worker_id, start.task)
    for _ in range(len(stacks) + 1):
        if prefix == (worker, task):
            return True
        stack = stacks.get(prefix)
        if stack is None:
            return False
        prefix = (stack.parent_worker, stack.parent_task)
    return True
