"""What the tests of reading share: workers brought where a test needs them, by the real verbs."""

from pathlib import Path

from gitworker.landing.merge import merge
from gitworker.lifecycle.moves import advance
from gitworker.model.ids import TaskId, WorkerId
from gitworker.model.worker import WorkerEvent
from gitworker.session import Session
from gitworker.store.heartbeats import beat
from gitworker.store.workers import Worker, find_worker
from gitworker.workers.approve import approve
from gitworker.workers.spawn import Request, spawn
from gitworker.workers.submit import Submission, submit
from tests.conftest import git


def worker(session: Session, name: str) -> Worker:
    """Return a worker as it is stored now."""
    with session.store.read() as reader:
        found = find_worker(reader, name)
    assert found is not None
    return found


def spawned(session: Session, name: str, task: str, title: str = "") -> Worker:
    """Give a worker a task."""
    return spawn(session, Request(WorkerId(name), TaskId(task), title=title)).worker


def working(session: Session, name: str, task: str) -> Worker:
    """Bring a worker to WORKING, with no process and one beat."""
    seat = spawned(session, name, task)
    with session.store.write() as writer:
        advance(writer, seat, WorkerEvent.START, actor=name)  # `start` would ring up a beater
        beat(writer, name, status="working", task=task, progress=0.25)
    return worker(session, name)


def commit(seat: Worker, name: str, text: str = "1\n") -> None:
    """Commit one file in a worker's worktree by plumbing.

    A hook would start a drain, which beats by a clock of its own.
    """
    assert seat.worktree is not None
    (Path(seat.worktree) / name).write_text(text)
    git(seat.worktree, "add", "--", name)
    tree = git(seat.worktree, "write-tree")
    made = git(seat.worktree, "commit-tree", "-p", "HEAD", "-m", f"Add {name}", tree)
    git(seat.worktree, "update-ref", "HEAD", made)


def in_review(session: Session, name: str, task: str) -> Worker:
    """Bring a worker to IN_REVIEW with one commit."""
    commit(working(session, name, task), f"{task}.txt")
    submit(session, name, Submission(note="please look"))
    return worker(session, name)


def landed(session: Session, name: str, task: str) -> Worker:
    """Bring a worker's one commit to the target."""
    in_review(session, name, task)
    approve(session, name, note="good")
    merge(session, [name])
    return worker(session, name)
