"""The unusual state of one worker's worktree, branch or agent."""

from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.observe.later_commits import read_later_commits
from gitworker.observe.workers.rules import (
    has_landed,
    is_at_work,
    resumes_in_place,
    should_have_worktree,
    waits_for_answer,
)
from gitworker.repo.worktrees.trouble import Trouble, find_place_trouble, find_trouble
from gitworker.rules_text import one_line
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.attention.questions import unanswered_questions
from gitworker.store.records.tips import find_tip
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
        with session.store.read() as reader:
            return read_later_commits(reader, session, worker, session.git.find_oid(worker.ref))
    if not should_have_worktree(worker.state):
        return None
    with session.store.read() as reader:
        published = find_tip(reader, worker.ref)
    return find_trouble(
        session.git, session.repository.common_dir, worker,
        exists=session.git.find_oid(worker.ref) is not None, published=published,
    )  # fmt: skip


def read_lost_place(
    session: Session, worker: Worker, *, task_status: TaskStatus | None, is_taken: bool
) -> Trouble | None:
    """Return why a failed worker, which can be resumed, does not have its worktree, or None."""
    if worker.branch is None or not resumes_in_place(
        worker.state, task_status=task_status, is_taken=is_taken
    ):
        return None
    with session.store.read() as reader:
        published = find_tip(reader, worker.ref)
    return find_place_trouble(
        session.git, session.repository.common_dir, worker,
        exists=session.git.find_oid(worker.ref) is not None, published=published,
    )  # fmt: skip


def find_pause(worker: str, state: WorkerState, *, paused_at_ms: int | None) -> Trouble | None:
    """Return that the agent of a worker at work is paused, or None."""
    if paused_at_ms is None or not is_at_work(state):
        return None
    return Trouble("paused", f"the agent of {worker} is paused", f"git worker continue {worker}")


def find_open_question(
    reader: Reader, worker: str, task: str | None, status: TaskStatus | None
) -> Trouble | None:
    """Return the oldest question of a worker's task that can be answered, or None."""
    if task is None or not waits_for_answer(status):
        return None
    found = unanswered_questions(reader, task)
    if not found:
        return None
    words = f"asks: {one_line(found[0].shown)}"
    return Trouble("question", words, f"git worker reply {worker} <text>")
