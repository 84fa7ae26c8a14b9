"""Read the unusual state of one worker's worktree or branch."""

from itertools import count

from gitworker.observe.workers.rules import has_landed, should_have_worktree
from gitworker.repo.worktrees.trouble import Trouble, find_trouble
from gitworker.session import Session
from gitworker.store.records.tips import find_tip
from gitworker.store.tasks import find_task
from gitworker.store.workers import Worker


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


def _later_commits(session: Session, worker: Worker) -> Trouble | None:
    range_ = ("rev-list", "--count", worker.ref, f"^{session.target}", "--")
    number = session.git.run(*range_, ok=(0, 128)).text.strip()
    if number in ("", "0"):
        return None
    with session.store.read() as reader:
        task = next(
            name for n in count(2) if find_task(reader, name := f"{worker.task}-{n}") is None
        )
    commits = "1 commit" if number == "1" else f"{number} commits"
    return Trouble(
        "later_commits",
        f"branch {worker.branch} has {commits} since its task landed",
        f"git worker assign {worker.worker_id} {task} --from {worker.branch}",
    )
