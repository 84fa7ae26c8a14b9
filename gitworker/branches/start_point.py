"""Starting a worker on another worker's branch: what `spawn --from NAME` means."""

from typing import NamedTuple

from gitworker.branches.rules_stack import is_active
from gitworker.errors import NotFound, Refused
from gitworker.model.ids import Branch, Oid, Ref, ref_of
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
    """The worker that another one is started on, and the commit that its branch is at."""

    worker: Worker
    tip: Oid


def find_parent(session: Session, name: str, *, worker: str, task: str) -> Parent | None:
    """Return the active worker that `name` means for who is about to get `task`.

    It is a worker id, a task id or a branch; None where it names none, and for a full ref, which is
    always a commit and no more. Raises Refused where it names another commit as well, or the parent
    itself stands on this task; NotFound where the parent's branch is gone.
    """
    if name.startswith("refs/"):
        return None
    with session.store.read() as reader:
        found = _find_active(reader, name)
        circle = found is not None and _leads_to(reader, found, worker=worker, task=task)
    if found is None or found.branch is None:
        return None
    if circle:
        raise Refused(
            f"{found.worker_id} stands on {task} of {worker} itself",
            f"git worker spawn {worker} {task} --from refs/heads/{found.branch}"
            f"   (once {found.worker_id} has dropped it by: git worker sync)",
            code="stacked_in_a_circle",
        )
    common_dir = session.repository.common_dir
    tip = find_tip(session.git, common_dir, ref_of(Branch(found.branch)))
    if tip is None:
        raise NotFound(f"the branch {found.branch} is gone", f"git worker show {found.worker_id}")
    for place in ("refs/heads/", "refs/tags/"):
        if name == found.branch:
            break
        other = find_tip(session.git, common_dir, Ref(place + name))
        if other is not None and session.git.find_oid(other) != tip:
            raise Refused(
                f"{name} is a worker or its task, and {place}{name} as well",
                f"--from {found.branch}   (or: --from {place}{name})",
                code="ambiguous_start",
            )
    return Parent(found, tip)


def stack_of(parent: Parent, *, worker: str, task: str) -> Stack:
    """Return what is recorded of a worker that was started on a parent."""
    branch, parent_task = parent.worker.branch or "", parent.worker.task_id or ""
    return Stack(worker, task, parent.worker.worker_id, parent_task, branch, parent.tip)


def _find_active(reader: Reader, name: str) -> Worker | None:
    found = (
        find_worker(reader, name)
        or find_worker_of_task(reader, name)
        or find_worker_of_branch(reader, name)
    )
    return found if found is not None and is_active(found.state) else None


def _leads_to(reader: Reader, start: Worker, *, worker: str, task: str) -> bool:
    """Tell whether a worker stands, at whatever distance, on another's task."""
    stacks = parents_of(reader)
    place = (start.worker_id, start.task_id or "")
    for _ in range(len(stacks) + 1):
        if place == (worker, task):
            return True
        stack = stacks.get(place)
        if stack is None:
            return False
        place = (stack.parent_worker, stack.parent_task)
    return True
