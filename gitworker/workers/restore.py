"""Carrying an undo out: the branch moved back, or branch, worktree and seat given back."""

import os

from gitworker import clock
from gitworker.bus.drain import record_tip
from gitworker.crashpoint import crash_point
from gitworker.model.ids import Branch, Oid, Ref
from gitworker.model.worker import WorkerEvent
from gitworker.repo.follow import move_branch
from gitworker.repo.hooks.install import install
from gitworker.repo.lock import hold
from gitworker.repo.recovery import recover_move
from gitworker.repo.refs import create_ref, find_ref
from gitworker.repo.trash import repair_trash, restore_from_trash
from gitworker.repo.worktrees import find_admin_dir
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.operations import Operation, close_operation, find_operation
from gitworker.store.workers import find_worker
from gitworker.workers.moves import advance
from gitworker.workers.rules import is_approved
from gitworker.workers.trashing import entry_name, find_entry, trash_root
from gitworker.workers.views import publish_views

FREEING = frozenset({"cancel", "reset"})


def finish_undo(session: Session, operation: Operation) -> None:
    """Carry a journaled undo out to its end; repeating it does no harm."""
    with session.store.read() as reader:
        done = find_operation(reader, operation.data["undoes"])
    assert done is not None
    if done.kind == "approve":
        _move_back(session, done)
        crash_point("undo.moved")
    else:
        _restore(session, done)
        crash_point("undo.restored")
    with session.store.write() as writer:
        if done.kind == "approve":
            _withdraw(writer, done, actor=operation.actor)
        else:
            _give_back(session, writer, done, actor=operation.actor)
        now = clock.now_ms()
        close_operation(writer, done.id, status="undone", step=done.step, data=done.data, now=now)
        close_operation(
            writer, operation.id, status="done", step="recorded", data=operation.data, now=now
        )
    publish_views(session, done.worker_id)


def _move_back(session: Session, done: Operation) -> None:
    data = done.data
    ref, old, new = Ref(data["ref"]), Oid(data["new"]), Oid(data["old"])
    if old == new:
        return
    places = {"worktree": data["worktree"], "admin_dir": data["admin_dir"]}
    if data["worktree"] and not os.path.isdir(data["worktree"]):
        places = {"worktree": None, "admin_dir": None}
    if not recover_move(session.git, ref=ref, old=old, new=new, **places):
        move_branch(session.git, ref=ref, old=old, new=new, **places)


def _restore(session: Session, done: Operation) -> None:
    """Bring branch and worktree back: from the trash, or anew where it was clean and is gone."""
    data = done.data
    ref = Ref(data["ref"])
    if data["tip"] and find_ref(session.git, ref) is None:
        create_ref(session.git, ref, Oid(data["tip"]), reason="gitworker: undo")
    if not data["worktree"]:
        return
    with hold(session.worktree_lock, what="worktree"):
        repair_trash(trash_root(session))
        entry = find_entry(session, entry_name(done.worker_id, done.task_id, done.id))
        if entry is not None:
            place = restore_from_trash(entry)
            install(session.git, session.repository, session.git.at(place))
        elif not os.path.isdir(data["worktree"]):
            branch = Branch(data["ref"].removeprefix("refs/heads/"))
            session.git.run("worktree", "add", "--quiet", "--", data["worktree"], branch)


def _withdraw(writer: Writer, done: Operation, *, actor: str) -> None:
    worker = find_worker(writer, done.worker_id)
    assert worker is not None
    if is_approved(worker.state):
        advance(
            writer, worker, WorkerEvent.APPROVAL_WITHDRAWN, actor=actor,
            metadata={"reason": "undo"},
        )  # fmt: skip
    writer.run("workers.set_review", worker=done.worker_id, review_state="pending")
    record_tip(writer, done.data["ref"], done.data["old"])


def _give_back(session: Session, writer: Writer, done: Operation, *, actor: str) -> None:
    """Give the seat its task again: assigned and at work; a removal changes no state."""
    data = done.data
    admin_dir = data["worktree"] and find_admin_dir(session.repository.common_dir, data["worktree"])
    now = clock.now_ms()
    if data["tip"]:
        record_tip(writer, data["ref"], data["tip"])
    if done.kind not in FREEING:
        writer.run(
            "workers.set_worktree",
            worker=done.worker_id, worktree=data["worktree"], admin_dir=admin_dir,
        )  # fmt: skip
        return
    writer.run(
        "workers.set_assignment",
        worker=done.worker_id, task=done.task_id,
        branch=data["ref"].removeprefix("refs/heads/"), base_oid=data["base"],
        worktree=data["worktree"], admin_dir=admin_dir, now=now,
    )  # fmt: skip
    lease_ms = session.settings.claims_lease_s * 1000
    writer.run(
        "claims.take",
        task=done.task_id, agent=done.worker_id, now=now, lease_until_ms=now + lease_ms,
    )  # fmt: skip
    writer.run(
        "tasks.set_assigned",
        task=done.task_id, agent=done.worker_id, branch=data["ref"].removeprefix("refs/heads/"),
    )  # fmt: skip
    worker = find_worker(writer, done.worker_id)
    assert worker is not None
    worker = advance(writer, worker, WorkerEvent.ASSIGN, actor=actor, happening="undo")
    advance(writer, worker, WorkerEvent.START, actor=actor, happening="recover")
