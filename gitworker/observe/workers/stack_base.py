"""The commit at which a worker's own commits begin, if its branch is stacked on another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.model.ids import Branch, Oid
from gitworker.model.ref_names import ref_of
from gitworker.repo.plumbing.refs import read_refs
from gitworker.store.stacks import find_stack, parent_tips

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.workers import Worker


def own_fork_point(session: Session, worker: Worker, *, tip: Oid, target: Oid) -> Oid | None:
    """Return the commit of a stacked branch after which its own commits begin.

    Return None for a branch that is not stacked, at the cost of one query and no process. `tip` is
    the tip of the branch, `target` its base (the target, or the commit that it becomes).
    """
    with session.store.read() as reader:
        stack = find_stack(reader, worker.worker_id, worker.task_id)
        tips = set() if stack is None else parent_tips(reader, stack)
    if stack is None:
        return None
    from gitworker.repo.history.fork_point import find_start, past_tips  # for stacked branches only

    ref = ref_of(Branch(stack.parent_branch))
    others = tips | past_tips(session.git, ref)  # bare repositories have no reflog, so:
    others |= set(read_refs(session.git, [ref]).values())
    return find_start(session.git, tip, target=target, others=others, last=Oid(stack.parent_oid))
