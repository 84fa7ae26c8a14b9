"""Undo an adoption: rename the branch back, release the worktree to its user.

This is possible only until the worker continues the work; later, other commands remove it. A
worktree that the adoption made is moved to the trash. One that it found stays at its place.
"""

import os
from collections.abc import Sequence

from gitworker.branches.replay_branch import drop_anchors
from gitworker.crashpoint import crash_point
from gitworker.errors import Refused
from gitworker.journal.rollback import drop_worktree
from gitworker.journal.rollback_adopt import log_of_rename, name_back, release_worktree
from gitworker.journal.undo.restore import worker_refusal
from gitworker.journal.undo.rules_undo import taken_back_as
from gitworker.journal.undo.undoable import Undoable, close
from gitworker.lifecycle.moves import advance, release_task
from gitworker.lifecycle.state_files import publish_views
from gitworker.model.ids import Ref
from gitworker.model.ref_names import anchor_of, short_name
from gitworker.model.worker import WorkerEvent
from gitworker.paths import read_worktree_owner, unlock_worktree_of_agent
from gitworker.repo.plumbing.refs import find_head_ref, find_ref, read_refs, require_refs
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.worktrees.ownership import require_checkout
from gitworker.repo.worktrees.trouble import require_no_operation
from gitworker.repo.worktrees.worktree_list import find_admin_dir
from gitworker.session import Session
from gitworker.store.api import Reader, Writer
from gitworker.store.operations import Operation
from gitworker.store.payloads.payload import AdoptData
from gitworker.store.records.tips import forget_tips
from gitworker.store.workers import Worker, clear_assignment, find_worker, load_worker
from gitworker.worktrees.prefetched_checks import is_dirty
from gitworker.worktrees.removal import refuse_stuck


def _require_untouched(session: Session, done: Operation) -> None:
    """Raise Refused if the worker has continued the adopted work, or the old name is taken."""
    with session.store.read() as reader:
        worker = load_worker(reader, done.worker_id)
    refusal = worker_refusal(worker, done)
    if refusal is not None:
        raise refusal
    _check_branch(session, done)
    _check_worktree(session, done, worker)


def _carry_out(session: Session, operation: Operation, done: Operation) -> None:
    """Rename the branch back, release the worktree and free the worker; safe to repeat.

    If it is impossible and no step has taken effect, the operation is closed.
    """
    with hold(session.worktree_lock, name="worktree"):
        try:
            if not _has_begun(session, done):
                _require_untouched(session, done)
            done = _carry_back(session, done)
        except BaseException:
            if not _has_begun(session, done):
                log_of_rename(session, done.id).put_back(done.payload(AdoptData).ref)
                drop_anchors(session, [operation])
                with session.store.write() as writer:
                    close(writer, operation, "rolled_back")
            raise
        drop_anchors(
            session, [operation]
        )  # before the operation is closed: later, no command would
        with session.store.write() as writer:
            _record(writer, operation, done)
    publish_views(session, done.worker_id)


def _check_branch(session: Session, done: Operation) -> None:
    """Refuse if the branch has changed since the adoption, or its old name is taken."""
    data = done.payload(AdoptData)
    ref, old = data.ref, data.old_ref
    parts = old.split("/")
    above = [Ref("/".join(parts[:end])) for end in range(3, len(parts))]
    found = read_refs(session.git, [ref, old, f"{old}/", *above])
    name, old_name = (short_name(one) for one in (ref, old))
    if found.pop(ref, None) != data.tip:
        raise Refused(
            f"the branch {name} has changed since it was adopted", f"git log {name}",
            code="branch_moved",
        )  # fmt: skip
    if old != ref and found:
        blocker = short_name(next(iter(found)))
        raise Refused(
            f"the branch {blocker} exists, so {name} cannot be called {old_name} again",
            f"git branch -m {blocker} <new-name>",
            code="branch_exists",
        )


def _check_worktree(session: Session, done: Operation, worker: Worker) -> None:
    """Refuse if git would not rename the checked-out branch, or a worktree of ours is in use."""
    admin_dir, place = worker.admin_dir, worker.worktree
    if admin_dir is None or place is None or not os.path.lexists(place):
        return
    require_checkout(session.git, place, admin_dir)
    require_no_operation(place, admin_dir)
    data = done.payload(AdoptData)
    if not data.made:
        return
    refuse_stuck(session, worker)
    if is_dirty(session, worker) or find_head_ref(session.git.at(place)) != data.ref:
        raise Refused(
            f"the worktree {place}, which the adoption made, has changed",
            f"git worker cancel {worker.worker_id}   # an undo can restore all its files",
            code="worktree_changed",
        )


def _has_begun(session: Session, done: Operation) -> bool:
    """Return whether the name is restored, or the mark of the worker removed, already."""
    if find_ref(session.git, done.payload(AdoptData).ref) is None:
        return True
    admin_dir = find_admin_dir(session.repository.common_dir, _place(session, done))
    return admin_dir is not None and read_worktree_owner(admin_dir) is None


def _place(session: Session, done: Operation) -> str:
    """Return the place of the worktree now: it may have been moved since."""
    with session.store.read() as reader:
        worker = find_worker(reader, done.worker_id)
    if worker is None or worker.task_id != done.task_id or worker.worktree is None:
        return done.payload(AdoptData).path
    return worker.worktree


def _carry_back(session: Session, done: Operation) -> Operation:
    """Revert the adoption in git; return it with the current path of its worktree."""
    data = done.payload(AdoptData)
    anchor = anchor_of(done.worker_id, done.task_id)  # a killed rename may leave neither name
    require_refs(session.git, [f"update {anchor} {data.tip}"], reason="gitworker: undo")
    name_back(session, done)
    data = data._replace(path=_place(session, done))
    done = done._replace(data=data)
    _end_rename(session, data)
    crash_point("undo.renamed")
    if data.made:
        drop_worktree(session, done)
    else:
        admin_dir = find_admin_dir(session.repository.common_dir, data.path)
        if admin_dir is not None:
            unlock_worktree_of_agent(admin_dir)  # of an agent that has ended
        release_worktree(session, done)
    crash_point("undo.released")
    return done


def _end_rename(session: Session, data: AdoptData) -> None:
    """Finish a rename in which git was killed: the HEAD of the worktree, the settings."""
    ref, old, place = data.ref, data.old_ref, data.path
    if ref == old:
        return
    if os.path.isdir(place):
        require_checkout(session.git, place)
    if os.path.isdir(place) and find_head_ref(session.git.at(place)) == ref:
        session.git.at(place).run("symbolic-ref", "-m", "gitworker: undo", "HEAD", old)
    sections = (f"branch.{short_name(name)}" for name in (ref, old))
    session.git.run(
        "config", "--rename-section", *sections, ok=range(256)
    )  # mostly there is no section


def _record(writer: Writer, operation: Operation, done: Operation) -> None:
    """Free the worker and its task, which another worker can take."""
    worker = find_worker(writer, done.worker_id)
    if worker is not None and worker.task_id == done.task_id:
        advance(
            writer, worker, WorkerEvent.CANCEL, actor=operation.actor,
            task_event=taken_back_as(worker.state), metadata={"reason": "undo"},
        )  # fmt: skip
        release_task(writer, worker)
        clear_assignment(writer, worker.worker_id)
    forget_tips(writer, done.payload(AdoptData).ref)
    close(writer, done, "undone")
    close(writer, operation, "done")


def _has_continued(reader: Reader, done: Operation) -> bool:
    """Return whether the adopted work has become the worker's own, as intended."""
    worker = find_worker(reader, done.worker_id)
    return worker is None or worker_refusal(worker, done) is not None


def _describe(undone: Sequence[Operation], workers: Sequence[Worker]) -> str:
    (done,), (worker,) = undone, workers
    name = short_name(done.payload(AdoptData).old_ref)
    return f"{name} is no longer managed; {done.worker_id} {worker.words}"


ADOPTION = Undoable(_require_untouched, _carry_out, _describe, is_settled=_has_continued)
