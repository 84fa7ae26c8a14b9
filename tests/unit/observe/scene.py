"""Helpers for the tests of reading: workers in the state that a test needs, by the real verbs."""

from pathlib import Path

from gitworker.landing.merge import merge
from gitworker.lifecycle.moves import advance
from gitworker.model.ids import TaskId, WorkerId
from gitworker.model.worker import WorkerEvent
from gitworker.session import Session
from gitworker.store.heartbeats import record_heartbeat
from gitworker.store.workers import Worker, find_worker
from gitworker.workers.approve import approve
from gitworker.workers.spawn import SpawnRequest, spawn
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
    return spawn(session, SpawnRequest(WorkerId(name), TaskId(task), title=title)).worker


def working(session: Session, name: str, task: str) -> Worker:
    """Bring a worker to WORKING, with no process and one heartbeat."""
    assigned = spawned(session, name, task)
    with session.store.write() as writer:
        # not `start`, which would start a heartbeat daemon
        advance(writer, assigned, WorkerEvent.START, actor=name)
        record_heartbeat(writer, name, status="working", task=task, progress=0.25)
    return worker(session, name)


def commit(assigned: Worker, name: str, text: str = "1\n") -> None:
    """Commit one file in a worker's worktree by plumbing.

    A hook would start a drain, which sends heartbeats by the real clock.
    """
    assert assigned.worktree is not None
    (Path(assigned.worktree) / name).write_text(text)
    git(assigned.worktree, "add", "--", name)
    tree = git(assigned.worktree, "write-tree")
    made = git(assigned.worktree, "commit-tree", "-p", "HEAD", "-m", f"Add {name}", tree)
    git(assigned.worktree, "update-ref", "HEAD", made)


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
