"""The landing of a workstream's branch on the target as a whole: its record and its clean-up.

Its row in the journal has the kind `land`, `ws` as its worker and the workstream as its task, like
the name of the branch, `ws/<workstream>`. The branch stays as it is until the landing is recorded;
then it is deleted, and a rescue ref keeps its commits if the replay has replaced them.
"""

from gitworker import clock
from gitworker.branches.replay_branch import drop_anchors
from gitworker.bus.drain import record_tip
from gitworker.bus.steps.workstream import move_workstream
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict
from gitworker.journal.finish_landing import RECORDED
from gitworker.journal.settle_rewrite import follow_push, put_checkout_back, roll_back
from gitworker.model.ref_names import short_name
from gitworker.model.workstream import WorkstreamEvent
from gitworker.progress import Notice
from gitworker.repo.checkout.recover_move import contains
from gitworker.repo.plumbing.refs import delete_branch, find_ref
from gitworker.repo.worktrees.worktree_list import find_checkout
from gitworker.session import Session
from gitworker.states.workstream_machine import is_validating
from gitworker.store.api import Writer
from gitworker.store.operations import Operation, advance_operation, close_operation
from gitworker.store.payloads.payload import MergeData
from gitworker.store.planning.workstreams import (
    find_workstream,
    set_due,
    set_workstream_error,
    set_workstream_landed,
)


def record_land(writer: Writer, operation: Operation, *, log: str = "") -> None:
    """Record that the target has the branch of a workstream: completed, and its commit.

    The operation stays open, at step `recorded`, until the branch is deleted.
    """
    data, name = operation.payload(MergeData), operation.task_id
    found = find_workstream(writer, name)
    set_workstream_landed(writer, name, data.new)
    set_workstream_error(writer, name, "")
    if found is not None and is_validating(found.state):
        facts = {"commit": data.new, "target": data.target_ref} | ({"log": log} if log else {})
        move_workstream(
            writer, found, WorkstreamEvent.VALIDATION_PASSED, actor=operation.actor, metadata=facts
        )
    set_due(writer, name)
    record_tip(writer, data.target_ref, data.new)
    advance_operation(writer, operation.id, step=RECORDED, data=data, now=clock.now_ms())


def close_land(session: Session, operation: Operation) -> None:
    """Delete the branch of a landed workstream, unless a user has it checked out, and close."""
    data = operation.payload(MergeData)
    _delete_branch(session, data)
    crash_point("land.deleted")
    drop_anchors(session, [operation])
    with session.store.write_own() as writer:
        close_operation(
            writer, operation.id, status="done", step=RECORDED, data=data, now=clock.now_ms()
        )


def _delete_branch(session: Session, data: MergeData) -> None:
    """Delete the landed branch, or report why it stays."""
    place = find_checkout(session.git, data.ref, alone=False)
    reason = f"is checked out in {place}"
    if place is None:
        try:
            delete_branch(session.git, data.ref, data.old)
            return
        except Conflict:
            reason = "has new commits"
    session.report(Notice(f"branch {short_name(data.ref)} stays, because it {reason}"))


def settle_land(session: Session, operation: Operation) -> None:
    """Record and clean up an interrupted landing if the target has it; else roll it back."""
    data = operation.payload(MergeData)
    if operation.step != RECORDED:
        if data.remote:
            follow_push(session, operation, data.remote)
        target = find_ref(session.git, data.target_ref)
        if target is None or not contains(session.git, target, data.new):
            put_checkout_back(session, operation)
            roll_back(session, operation.id)
            return
        with session.store.write() as writer:
            record_land(writer, operation)
    close_land(session, operation)
