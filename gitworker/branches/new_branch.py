"""The branch of a new task: its name must be free, and it begins at a chosen base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.errors import Refused
from gitworker.model.ids import Branch, Oid, TaskId, WorkerId
from gitworker.model.ref_names import branch_of, ref_of
from gitworker.repo.plumbing.refs import read_branches
from gitworker.session import Session, missing_target

if TYPE_CHECKING:
    from gitworker.branches.start_point import Parent


def choose_base(
    session: Session, worker: WorkerId, task: TaskId, *, start: str | None
) -> tuple[Oid, Parent | None]:
    """Return the commit at which the task's branch begins, and the parent if it is stacked on one.

    The base is the target's tip; with `start` it is that revision, remote branch (fetched first) or
    worker; of a rescue ref's snapshot it is the commit below. Raises Refused if the branch's name
    is not free, the target has no commit, or git cannot check out the base; NotFound for an unknown
    start.
    """
    blocker, ref = ref_of(Branch(worker)), ref_of(branch_of(worker, task))
    refs = read_branches(
        session.git,
        session.repository.common_dir,
        [session.target, blocker, ref],
        git_config=session.git_config,
    )
    if blocker in refs:
        raise Refused(
            f"the branch {worker} exists, so git allows no branch {worker}/{task}",
            f"git branch -m {worker} <new-name>   # or choose another worker id",
            code="name_blocked",
        )
    if ref in refs:
        branch = branch_of(worker, task)
        raise Refused(
            f"the branch {branch} exists already",
            f"git branch -m {branch} <new-name>   # keeps its work; or choose another task id",
            code="branch_exists",
        )
    target = refs.get(session.target)
    if start is None:
        if target is None:
            raise missing_target(session)
        return target, None
    from gitworker.branches.start_point import find_parent  # 2 ms, only with --from

    parent = find_parent(session, start, worker=worker, task=task)
    tip = parent.tip if parent else _resolve(session, start)
    if target is not None:
        from gitworker.branches.landable import require_startable  # 3 ms, only with --from

        require_startable(session, start, tip, target=target)
    return tip, parent


def _resolve(session: Session, start: str) -> Oid:
    remote, slash, branch = start.partition("/")
    if slash and f"remote.{remote}.url" in session.git_config:
        from gitworker.repo.remote.fetch import fetch_branch  # GitPython: 100 ms, only to fetch

        report = session.transfer_report
        return fetch_branch(session.git, remote=remote, branch=branch, report=report)
    from gitworker.repo.rescue.rescue_refs import commit_below  # 5 ms, only with --from

    return commit_below(session.git, session.git.require_oid(start, "the start"))
