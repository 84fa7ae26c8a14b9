"""Stacked branches: the order of landing, and the commits that are replayed.

A stacked worker is approved on top of its parent's approved branch and lands after it. Only its own
commits are replayed. The parent's commits in it are dropped: they land by themselves, possibly
amended or rebased, or not at all if the parent was cancelled.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from gitworker.branches.replay_branch import BranchTips
from gitworker.branches.rules_stack import ParentState, approve_refusal, merge_refusal, parent_state
from gitworker.errors import NotFound
from gitworker.model.ids import Branch, Oid
from gitworker.model.ref_names import ref_of
from gitworker.observe.workers.stack_base import own_fork_point
from gitworker.repo.plumbing.refs import find_tip
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.records.landings import find_landing
from gitworker.store.stacks import Stack, find_stack, parents_of
from gitworker.store.workers import Worker, find_worker

__all__ = [
    "Stack", "StackBase", "find_stack_base", "own_fork_point", "parent_names", "parent_state_of",
    "parents_of", "require_parent_landed", "require_parent_ready",
]  # fmt: skip


class StackBase(NamedTuple):
    """The commit onto which a branch is replayed, and the commit before its own commits.

    Not stacked: the target, and None. `parent` is the worker that lands before it, None once it has
    landed; `onto` is the tip of its branch until then. `is_withdrawn`: the parent was withdrawn.
    """

    onto: Oid
    exclude: Oid | None
    parent: Stack | None
    stack: Stack | None
    is_withdrawn: bool = False

    @property
    def name(self) -> str:
        """Return the name of the replay base for the user."""
        return "the target" if self.parent is None else self.parent.parent_branch


def parent_names(reader: Reader, workers: Iterable[Worker]) -> dict[str, str]:
    """Return the parent worker of each of these that is stacked on another."""
    stacks = parents_of(reader)
    found = ((one, stacks.get((one.worker_id, one.task))) for one in workers)
    return {one.worker_id: stack.parent_worker for one, stack in found if stack is not None}


def parent_state_of(reader: Reader, stack: Stack) -> ParentState:
    """Return whether the parent lands first, has landed or was withdrawn."""
    parent = find_worker(reader, stack.parent_worker)
    return parent_state(
        None if parent is None else parent.state,
        same_task=parent is not None and parent.task_id == stack.parent_task,
        landed=find_landing(reader, stack.parent_worker, stack.parent_task) is not None,
    )


def find_stack_base(session: Session, worker: Worker, tips: BranchTips) -> StackBase:
    """Return the replay base of a branch: its parent's branch until that has landed.

    Raises NotFound if the branch of a parent that has not landed does not exist.
    """
    with session.store.read() as reader:
        stack = find_stack(reader, worker.worker_id, worker.task_id)
        fate = None if stack is None else parent_state_of(reader, stack)
    if stack is None:
        return StackBase(tips.target, None, None, None)
    onto, parent = tips.target, None
    if fate is ParentState.AHEAD:
        parent = stack
        onto = _parent_tip(session, stack)
    fork_point = own_fork_point(session, worker, tip=tips.branch, target=tips.target)
    return StackBase(onto, fork_point, parent, stack, is_withdrawn=fate is ParentState.WITHDRAWN)


def require_parent_ready(session: Session, worker: Worker, ground: StackBase) -> None:
    """Raise Refused if the worker cannot be approved before its parent is."""
    if ground.parent is None:
        return
    with session.store.read() as reader:
        parent = find_worker(reader, ground.parent.parent_worker)
    refusal = approve_refusal(
        worker.worker_id, ground.parent.parent_worker, None if parent is None else parent.state
    )
    if refusal is not None:
        raise refusal


def require_parent_landed(
    reader: Reader, worker: Worker, *, with_tasks: Collection[str] = ()
) -> None:
    """Raise Refused if the worker's parent has not landed and is not one of `with_tasks`.

    These are the tasks of the workers before it in the same window.
    """
    stack = find_stack(reader, worker.worker_id, worker.task_id)
    if stack is None or stack.parent_task in with_tasks:
        return
    refusal = merge_refusal(worker.worker_id, stack.parent_worker, parent_state_of(reader, stack))
    if refusal is not None:
        raise refusal


def _parent_tip(session: Session, stack: Stack) -> Oid:
    ref = ref_of(Branch(stack.parent_branch))
    tip = find_tip(session.git, session.repository.common_dir, ref)
    if tip is None:
        raise NotFound(
            f"branch {stack.parent_branch}, on which {stack.worker_id} is stacked, does not exist",
            f"git worker show {stack.parent_worker}",
        )
    return tip
