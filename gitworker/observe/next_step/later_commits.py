"""Commits that were made on a worker's branch after its task landed: they need a task again."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.ref_names import BRANCHES, RESCUES, branch_of, ref_of, short_name
from gitworker.observe.workers.rules_worker import is_free
from gitworker.paths import read_worktree_owner
from gitworker.repo.plumbing.refs import find_head_ref, read_branches
from gitworker.repo.worktrees.trouble import Trouble
from gitworker.rules_text import count_text, quoted
from gitworker.store.records.landings import all_landings, find_landing
from gitworker.store.tasks import find_task
from gitworker.store.workers import all_workers, find_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gitworker.model.ids import Oid, Ref, WorkerId
    from gitworker.model.worker import WorkerState
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.records.landings import Landing
    from gitworker.store.records.screens import WorkerRow
    from gitworker.store.workers import Worker

CODE = "later_commits"


class LeftBranch(NamedTuple):
    """A branch of a landed task with later commits, which its worker no longer has."""

    worker: WorkerId
    task: str
    landed_at_ms: int
    trouble: Trouble


def read_later_commits(
    reader: Reader, session: Session, worker: Worker | WorkerRow, tip: Oid | None
) -> Trouble | None:
    """Return that the branch of a landed worker, at `tip`, has commits since then, or None.

    Starts git only if the branch has moved since the landing.
    """
    if worker.branch is None or tip is None:
        return None
    landing = find_landing(reader, worker.worker_id, worker.task_id)
    session = session.aimed_at(worker.lands_on)
    number = _count_since(session, landing, ref_of(worker.branch), tip)
    if number == 0:
        return None
    words = f"branch {worker.branch} has {count_text(number, 'commit')} since its task landed"
    command = new_owner(
        reader, worker.worker_id, worker.state, task=worker.task, branch=worker.branch
    )
    return Trouble(CODE, words, command)


def read_left_branches(reader: Reader, session: Session) -> list[LeftBranch]:
    """Return the branches of landed tasks with later commits that no worker and no other ref has.

    The branch of a worker's present task is not one of them.
    """
    workers = {one.worker_id: one for one in all_workers(reader)}
    taken = {one.branch for one in workers.values()}
    left = {
        ref_of(branch): one
        for one in all_landings(reader)
        if (branch := branch_of(one.worker_id, one.task_id)) not in taken
    }
    if not left:
        return []
    common_dir, config = session.repository.common_dir, session.git_config
    refs = read_branches(session.git, common_dir, list(left), git_config=config)
    found = []
    for ref, tip in refs.items():
        landing = left[ref]
        number = _count_since(session, landing, ref, tip)
        if number and not _is_elsewhere(session, ref, tip):
            branch = short_name(ref)
            words = (
                f"branch {branch} has {count_text(number, 'commit')} since its task landed, "
                "and no worker has the branch"
            )
            owner = workers.get(landing.worker_id)
            state = owner.state if owner else None
            command = new_owner(
                reader, landing.worker_id, state, task=landing.task_id, branch=branch
            )
            at_ms, trouble = landing.landed_at_ms, Trouble(CODE, words, command)
            found.append(LeftBranch(landing.worker_id, landing.task_id, at_ms, trouble))
    return found


def read_old_worktree(session: Session, worker: Worker) -> Trouble | None:
    """Return that the caller is in a kept worktree of an earlier task with later commits, or None.

    The command gives them to the worker as a task if it is free, else to its present branch if that
    is a part of them, else to another worker.
    """
    git, repository = session.git, session.repository
    found = read_worktree_owner(repository.git_dir) if repository.is_linked else None
    if found is None or found[0] != worker.worker_id or found[1] == worker.task_id:
        return None
    head = find_head_ref(git)
    present = worker.ref if worker.branch and git.find_oid(worker.ref) else None
    number = (
        0 if head is None else _count_later(session, head, without=[present] if present else [])
    )
    if head is None or number == 0:
        return None
    with session.store.read() as reader:
        branch = short_name(head)
        command = new_owner(reader, worker.worker_id, worker.state, task=found[1], branch=branch)
    own = None if is_free(worker.state) else present
    if own and worker.worktree and _contains(session, head, own):
        command = f"git -C {quoted(worker.worktree)} merge --ff-only {branch}"
    words = f"branch {branch} has {count_text(number, 'commit')} since its task {found[1]} ended"
    return Trouble(CODE, words, command)


def new_owner(
    reader: Reader, worker: str, state: WorkerState | None, *, task: str, branch: str
) -> str:
    """Return the command that makes a task of a landed task's branch.

    It is for the worker if `state` is that of a free one, else for another worker.
    """
    task = _free_name(reader, task, find_task)
    if state is not None and is_free(state):
        return f"git worker assign {worker} {task} --from {branch}"
    other = _free_name(reader, worker, find_worker)
    return f"git worker spawn {other} {task} --from {branch}"


def _count_since(session: Session, landing: Landing | None, ref: Ref, tip: Oid) -> int:
    """Return the number of commits on a branch since its landing."""
    if landing is not None and tip in (landing.target_new, landing.branch_old):
        return 0
    return _count_later(session, ref)


def _count_later(session: Session, ref: Ref, *, without: Sequence[Ref] = ()) -> int:
    """Return the number of commits on a branch whose patches the target does not have."""
    done = session.git.run(
        "rev-list", "--count", "--no-merges", "--cherry-pick", "--right-only",
        f"{session.target}...{ref}", *(f"^{one}" for one in without), "--", ok=(0, 128),
    )  # fmt: skip
    return int(done.text.strip() or 0) if done.status == 0 else 0


def _is_elsewhere(session: Session, ref: Ref, tip: Oid) -> bool:
    """Return whether another branch or a rescue ref has a commit, so that work continues on it."""
    found = session.git.run(
        "for-each-ref", "--count=2", "--format=%(refname)", f"--contains={tip}", BRANCHES, RESCUES
    ).text.split()
    return found != [ref]


def _contains(session: Session, ref: Ref, other: Ref) -> bool:
    """Return whether a branch contains all commits of another one."""
    return session.git.text("rev-list", "--count", other, f"^{ref}", "--") == "0"


def _free_name(reader: Reader, name: str, find: Callable[[Reader, str], object | None]) -> str:
    """Return the name with the first number, from 2 on, that no worker or task has."""
    return next(other for n in count(2) if find(reader, other := f"{name}-{n}") is None)
