"""The unusual state of one worker's worktree, branch or agent."""

from collections.abc import Callable
from itertools import count

from gitworker.model.ids import Ref
from gitworker.model.ref_names import short_name
from gitworker.model.worker import WorkerState
from gitworker.observe.text import count_text
from gitworker.observe.workers.rules import has_landed, is_at_work, is_free, should_have_worktree
from gitworker.paths import read_worktree_owner
from gitworker.repo.plumbing.refs import find_head_ref
from gitworker.repo.worktrees.trouble import Trouble, find_trouble
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.records.tips import find_tip
from gitworker.store.tasks import find_task
from gitworker.store.workers import Worker, find_worker


def json_trouble(trouble: Trouble | None) -> dict[str, str] | None:
    """Return the state as JSON data; None for a usual one."""
    if trouble is None:
        return None
    return {"code": trouble.code, "message": trouble.words, "command": trouble.command}


def read_trouble(session: Session, worker: Worker) -> Trouble | None:
    """Return why a worker's worktree or branch is not as its commands need it, or None.

    After a landing that is a kept branch with later commits, which need a task of their own.
    """
    if worker.branch is None:
        return None
    if has_landed(worker.state):
        return _later_commits(session, worker)
    if not should_have_worktree(worker.state):
        return None
    with session.store.read() as reader:
        published = find_tip(reader, worker.ref)
    return find_trouble(
        session.git, session.repository.common_dir, worker,
        exists=session.git.find_oid(worker.ref) is not None, published=published,
    )  # fmt: skip


def find_pause(worker: str, state: WorkerState, *, paused_at_ms: int | None) -> Trouble | None:
    """Return that the agent of a worker at work is paused, or None."""
    if paused_at_ms is None or not is_at_work(state):
        return None
    return Trouble("paused", f"the agent of {worker} is paused", f"git worker continue {worker}")


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
    number = 0 if head is None else _count_later(session, head, without=present)
    if head is None or number == 0:
        return None
    branch, task = short_name(head), _free_name(session, found[1], find_task)
    words = f"branch {branch} has {count_text(number, 'commit')} since its task {found[1]} ended"
    name = worker.worker_id
    if is_free(worker.state):
        command = f"git worker assign {name} {task} --from {branch}"
    elif present and worker.worktree and _contains(session, head, present):
        command = f"git -C {quoted(worker.worktree)} merge --ff-only {branch}"
    else:
        other = _free_name(session, name, find_worker)
        command = f"git worker spawn {other} {task} --from {branch}"
    return Trouble("later_commits", words, command)


def _later_commits(session: Session, worker: Worker) -> Trouble | None:
    number = _count_later(session, worker.ref)
    if number == 0:
        return None
    task = _free_name(session, worker.task, find_task)
    return Trouble(
        "later_commits",
        f"branch {worker.branch} has {count_text(number, 'commit')} since its task landed",
        f"git worker assign {worker.worker_id} {task} --from {worker.branch}",
    )


def _count_later(session: Session, ref: Ref, *, without: Ref | None = None) -> int:
    """Return the number of commits on a branch whose patches the target does not have."""
    others = (f"^{without}",) if without else ()
    done = session.git.run(
        "rev-list", "--count", "--no-merges", "--cherry-pick", "--right-only",
        f"{session.target}...{ref}", *others, "--", ok=(0, 128),
    )  # fmt: skip
    return int(done.text.strip() or 0) if done.status == 0 else 0


def _contains(session: Session, ref: Ref, other: Ref) -> bool:
    """Return whether a branch contains all commits of another one."""
    return session.git.text("rev-list", "--count", other, f"^{ref}", "--") == "0"


def _free_name(session: Session, name: str, find: Callable[[Reader, str], object | None]) -> str:
    """Return the name with the first number, from 2 on, that no worker or task has."""
    with session.store.read() as reader:
        return next(other for n in count(2) if find(reader, other := f"{name}-{n}") is None)
