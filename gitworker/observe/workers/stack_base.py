"""Where the commits of a worker's own begin, where its branch stands on another worker's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.model.ids import Branch, Oid, ref_of
from gitworker.repo.plumbing.refs import read_refs
from gitworker.store.stacks import find_stack, parent_tips

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.workers import Worker


def own_start(session: Session, worker: Worker, *, tip: Oid, target: Oid) -> Oid | None:
    """Return the commit of a stacked branch after which its own commits begin.

    None for a branch that stands on nobody's: that costs one query and no process. `tip` is the
    branch's, `target` what it is to stand on (the target, or what is about to be).
    """
    with session.store.read() as reader:
        stack = find_stack(reader, worker.worker_id, worker.task_id)
        tips = set() if stack is None else parent_tips(reader, stack)
    if stack is None:
        return None
    from gitworker.repo.history.fork_point import find_start, past_tips  # for stacked branches only

    ref = ref_of(Branch(stack.parent_branch))
    others = tips | past_tips(session.git, ref)  # bare repositories keep no reflog, so:
    others |= set(read_refs(session.git, [ref]).values())
    return find_start(session.git, tip, target=target, others=others, last=Oid(stack.parent_oid))
