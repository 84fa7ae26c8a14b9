"""The drain: compares branch tips with the last published ones and publishes the difference.

Refs are the truth, a hook is a doorbell (DESIGN section 7): whatever moved a branch, hook or no
hook, its new commits are told once. Tip and messages change in one transaction by compare-and-set
and message ids derive from (branch, commit), so that two drains double nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.bus.message_ids import derived_id
from gitworker.bus.publish import Outgoing, publish
from gitworker.model.ids import HQ, Branch, Oid, Ref, ref_of
from gitworker.paths import read_seat, regular
from gitworker.repo.plumbing.refs import read_branches
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.heartbeats import touch
from gitworker.store.workers import Worker, all_workers

PATHS_SHOWN = 50
SPOOL_FILE = "hooks"

if TYPE_CHECKING:
    from gitworker.repo.history.new_commits import NewCommit


class Move(NamedTuple):
    """A ref whose tip is not the one that was last published."""

    ref: Ref
    old: Oid | None
    new: Oid


Skipped = Callable[[Ref, Exception], None]


def _pass_by(_ref: Ref, _error: Exception) -> None:
    """Say nothing of a branch whose commits cannot be told now: the next drain tries again."""


def drain(
    session: Session, workers: Sequence[Worker] | None = None, *, skipped: Skipped = _pass_by
) -> dict[Ref, Oid]:
    """Publish every commit that nobody was told of, and a beat for whoever rang.

    `workers` are all of them, where somebody has just read them. A branch whose commits cannot be
    told now stops nobody: `skipped` is called with it. Returns the tips of the target and of the
    workers' branches as they were found. Publishes nothing if the state directory is read-only.
    """
    rang = set() if session.store.is_read_only else _empty_spool(session.paths.spool)
    with session.store.read() as reader:
        everyone = all_workers(reader) if workers is None else workers
        tips = {Ref(row["ref"]): Oid(row["oid"]) for row in reader.rows("tips.all")}
        for_radar = bool(reader.rows("tips.due", now=clock.now_ms()))
    holders = {ref_of(Branch(worker.branch)): worker for worker in everyone if worker.branch}
    refs = read_branches(
        session.git,
        session.repository.common_dir,
        [session.target, *holders],
        git_config=session.git_config,
    )
    if session.store.is_read_only:  # a command that may write publishes
        return refs
    target_tip = refs.get(session.target)
    for ref in dict.fromkeys((session.target, *holders)):
        tip = refs.get(ref)
        if tip is None or tip == tips.get(ref):
            continue
        move = Move(ref, tips.get(ref), tip)
        for_radar = True
        try:
            if ref == session.target:
                _publish_target(session, move)
            else:
                _publish_branch(session, holders[ref], move, target_tip)
        except Exception as error:  # noqa: BLE001 - one branch never stops everybody
            skipped(ref, error)
    if rang:
        with session.store.write(durable=False) as writer:
            for worker in holders.values():
                if worker.worker_id in rang:
                    touch(writer, worker.worker_id, task=worker.task_id)
    if for_radar:
        from gitworker.bus.jobs.radar_job import ring_radar  # not needed where nothing moved

        ring_radar(session, everyone)
    return refs


def record_rewrite(writer: Writer, ref: Ref, *, old: Oid, new: Oid) -> None:
    """Record a tip that we are about to give a branch ourselves: its commits are no news."""
    writer.run("tips.add_rewrite", ref=ref, new_oid=new, old_oid=old, now=clock.now_ms())


def record_tip(writer: Writer, ref: Ref, oid: Oid) -> None:
    """Record a tip as published, because whoever calls has told it."""
    now = clock.now_ms()
    writer.run("tips.set_due_if_moved", ref=ref, oid=oid, now=now)
    writer.run("tips.set", ref=ref, oid=oid, now=now)


def _publish_branch(session: Session, worker: Worker, move: Move, target: Oid | None) -> None:
    with session.store.read() as reader:
        rewrites = reader.rows("tips.rewrites_of", ref=move.ref)
    ours = [Oid(row["new_oid"]) for row in rewrites]
    commits: list[NewCommit] = []
    if move.new not in ours:
        from gitworker.repo.history.new_commits import new_commits  # not needed where nothing moved

        known = [*ours, target] if target else ours
        commits = new_commits(session.git, tip=move.new, last=move.old, known=known)
    now = clock.now_ms()
    with session.store.write() as writer:
        if not _claim_move(writer, move, now):
            return
        for commit in commits:
            publish(writer, _progress(worker, commit), now=now)
        if commits:
            touch(writer, worker.worker_id, task=worker.task_id)


def _publish_target(session: Session, move: Move) -> None:
    """Tell that somebody else moved the target; our own landings record its tip themselves."""
    now = clock.now_ms()
    with session.store.write() as writer:
        if not _claim_move(writer, move, now) or move.old is None:
            return
        publish(
            writer,
            Outgoing(
                "x-target-moved",
                sender=HQ,
                payload={"ref": move.ref, "from": move.old, "to": move.new},
            ),
            now=now,
        )


def _claim_move(writer: Writer, move: Move, now: int) -> bool:
    """Record the new tip if the last one is still what we compared with; the radar sees it too."""
    if move.old is None:
        if writer.row("tips.of_ref", ref=move.ref) is not None:
            return False
        writer.run("tips.set", ref=move.ref, oid=move.new, now=now)
    elif writer.run("tips.move", ref=move.ref, old=move.old, new=move.new, now=now) != 1:
        return False
    writer.run("tips.set_due", ref=move.ref, now=now)
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


def _empty_spool(spool: str) -> set[str]:
    """Take the spool away, the doorbell first, and return the workers whose hooks wrote in it.

    A batch that a killed drain had taken is found by its name and read again.
    """
    with suppress(FileNotFoundError):
        os.unlink(f"{spool}/ring")
    with suppress(FileNotFoundError):
        os.rename(f"{spool}/{SPOOL_FILE}", f"{spool}/{SPOOL_FILE}.{os.getpid()}")
    rang: set[str] = set()
    names = os.listdir(spool) if os.path.isdir(spool) else []
    for name in names:
        if name.startswith(f"{SPOOL_FILE}."):
            with suppress(FileNotFoundError):  # another drain was faster
                rang |= _read_batch(f"{spool}/{name}")
    return rang


def _read_batch(path: str) -> set[str]:
    with open(path, encoding="utf-8", errors="surrogateescape", opener=regular) as file:
        rang = {worker for line in file if (worker := _worker_of(line)) is not None}
    os.unlink(path)
    return rang


def _worker_of(line: str) -> str | None:
    """Return the worker in whose worktree a hook wrote this line, by the git directory it names."""
    fields = line.rstrip("\n").split("\t")
    seat = read_seat(fields[2]) if len(fields) > 2 else None
    return seat[0] if seat else None
