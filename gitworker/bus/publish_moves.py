"""Publish that branches moved: messages and the new tip in one transaction, by compare-and-set."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.bus.message_ids import derived_id
from gitworker.bus.publish import Outgoing, publish
from gitworker.model.ids import HQ, Oid, Ref
from gitworker.model.ref_names import short_name
from gitworker.store.heartbeats import renew_heartbeat
from gitworker.store.records.tips import find_tip, move_tip, rewrites_of, set_due, set_tip
from gitworker.store.workers import set_author_back

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.repo.history.new_commits import NewCommit
    from gitworker.session import Session
    from gitworker.store.api import Writer
    from gitworker.store.workers import Worker

PATHS_SHOWN = 50


class MovedRef(NamedTuple):
    """A ref whose tip differs from the last published one."""

    ref: Ref
    old: Oid | None
    new: Oid


def publish_branch(session: Session, worker: Worker, move: MovedRef, target: Oid | None) -> bool:
    """Publish the commits of a worker's branch that moved; return whether there were any."""
    with session.store.read() as reader:
        ours = [new for _, new in rewrites_of(reader, move.ref)]
    commits: list[NewCommit] = []
    if move.new not in ours:
        from gitworker.repo.history.new_commits import new_commits  # only if a branch moved

        known = [*ours, target] if target else ours
        commits = new_commits(session.git, tip=move.new, last=move.old, known=known)
    now = clock.now_ms()
    with session.store.write() as writer:
        if not _claim_move(writer, move, now):
            return False
        for commit in commits:
            publish(writer, _progress(worker, commit), now=now)
        if commits:
            set_author_back(writer, worker.worker_id)
            renew_heartbeat(writer, worker.worker_id, task=worker.task_id)
    return bool(commits)


def find_unreviewed(
    holders: Mapping[Ref, Worker], refs: Mapping[Ref, Oid], move: MovedRef
) -> Worker | None:
    """Return the worker to whose last commit the target was moved, if it has commits of its own."""
    found = (worker for ref, worker in holders.items() if refs.get(ref) == move.new)
    return next((worker for worker in found if worker.base_oid != move.new), None)


def publish_target(session: Session, move: MovedRef, author: Worker | None) -> None:
    """Publish that another program moved the target; our landings record its tip themselves.

    `hq` gets the message if the target now has commits of a worker that no landing checked.
    """
    payload: dict[str, object] = {"ref": move.ref, "from": move.old, "to": move.new}
    if author is not None:
        words = f"{short_name(move.ref)} was moved to {author.branch} without an approval"
        payload |= {"worker": author.worker_id, "text": words}
    now = clock.now_ms()
    with session.store.write() as writer:
        if not _claim_move(writer, move, now) or move.old is None:
            return
        publish(
            writer,
            Outgoing("x-target-moved", sender=HQ, to=HQ if author else None, payload=payload),
            now=now,
        )


def _claim_move(writer: Writer, move: MovedRef, now: int) -> bool:
    """Record the new tip, for the radar too; return False if another drain was faster."""
    if move.old is None:
        if find_tip(writer, move.ref) is not None:
            return False
        set_tip(writer, move.ref, move.new, now=now)
    elif not move_tip(writer, move.ref, old=move.old, new=move.new, now=now):
        return False
    set_due(writer, move.ref, now=now)
    return True


def _progress(worker: Worker, commit: NewCommit) -> Outgoing:
    assert worker.branch is not None
    return Outgoing(
        "task_progress",
        sender=worker.worker_id,
        correlation_id=worker.task_id,
        payload={
            "branch": worker.branch,
            "commit": commit.oid,
            "subject": commit.subject[:200],
            "author": commit.author[:200],
            "files_changed": list(commit.paths[:PATHS_SHOWN]),
            "files_changed_count": len(commit.paths),
        },
        id=derived_id("commit", worker.branch, commit.oid),
    )
