"""The drain: compare branch tips with the last published ones and publish the difference.

Refs decide; a hook only starts the drain. New commits are published once, whether or not a hook
saw them. Tip and messages change in one transaction by compare-and-set, and message ids derive from
(branch, commit), so that two drains at once publish nothing twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from gitworker import clock
from gitworker.model.ids import Oid, Ref
from gitworker.paths import open_regular, read_worktree_owner
from gitworker.repo.plumbing.refs import read_branches
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.heartbeats import renew_heartbeat
from gitworker.store.records.tips import (
    add_rewrite,
    all_tips,
    due_refs,
    set_due_if_moved,
    set_tip,
)
from gitworker.store.workers import Worker, all_workers

SPOOL_FILE = "hooks"

Skipped = Callable[[Ref, Exception], None]


def ignore(_ref: Ref, _error: Exception) -> None:
    """Report nothing about a branch that cannot be published now: the next drain tries again."""


def ignore_worker(_worker: Worker) -> None:
    """Do nothing about a worker that has committed."""


def drain(
    session: Session,
    workers: Sequence[Worker] | None = None,
    *,
    skipped: Skipped = ignore,
    committed: Callable[[Worker], None] = ignore_worker,
) -> dict[Ref, Oid]:
    """Publish all unpublished commits, and a heartbeat for each worker whose hook ran.

    `workers` are all workers, if the caller has just read them. If the commits of a branch cannot
    be published now, `skipped` is called and the other branches are still published. `committed` is
    called with each worker whose commits were published, as it was before. Returns the
    tips of the target, of the branches on which these workers' tasks land, and of the workers'
    branches. Publishes nothing if the state directory is read-only.
    """
    session = session.aimed_at(None)
    reported = set() if session.store.is_read_only else _empty_spool(session.paths.spool)
    with session.store.read() as reader:
        known = all_workers(reader) if workers is None else workers
        tips = all_tips(reader)
        for_radar = bool(due_refs(reader, clock.now_ms()))
    holders = {one.ref: one for one in known if one.branch and one.elsewhere is None}
    targets = list(dict.fromkeys((session.target, *map(session.target_of, holders.values()))))
    refs = read_branches(
        session.git,
        session.repository.common_dir,
        [*targets, *holders],
        git_config=session.git_config,
    )
    if session.store.is_read_only:  # a later command that can write publishes
        return refs
    for ref in dict.fromkeys((*targets, *holders)):
        tip = refs.get(ref)
        if tip is None or tip == tips.get(ref):
            continue
        from gitworker.bus import publish_moves  # 3 ms, only if a branch moved

        move = publish_moves.MovedRef(ref, tips.get(ref), tip)
        for_radar = True
        try:
            if ref in targets:
                author = publish_moves.find_unreviewed(holders, refs, move)
                publish_moves.publish_target(session, move, author)
                continue
            worker = holders[ref]
            target = refs.get(session.target_of(worker))
            if publish_moves.publish_branch(session, worker, move, target):
                committed(worker)
        except Exception as error:  # noqa: BLE001 - the other branches are still published
            skipped(ref, error)
    if reported:
        with session.store.write_own(durable=False) as writer:
            for worker in holders.values():
                if worker.worker_id in reported:
                    renew_heartbeat(writer, worker.worker_id, task=worker.task_id)
    if for_radar:
        from gitworker.bus.jobs.radar_job import start_radar_job  # only if a branch moved

        start_radar_job(session, known)
    return refs


def record_rewrite(writer: Writer, ref: Ref, *, old: Oid, new: Oid) -> None:
    """Record a tip to which we are about to move a branch, so that it is not published as news."""
    add_rewrite(writer, ref, new=new, old=old, now=clock.now_ms())


def record_tip(writer: Writer, ref: Ref, oid: Oid) -> None:
    """Record a tip that the caller has published."""
    now = clock.now_ms()
    set_due_if_moved(writer, ref, oid, now=now)
    set_tip(writer, ref, oid, now=now)


def _empty_spool(spool: str) -> set[str]:
    """Delete `ring`, then empty the spool; return the workers whose hooks wrote to it.

    A batch that a killed drain had renamed is found by its name and read.
    """
    with suppress(FileNotFoundError):
        os.unlink(f"{spool}/ring")
    with suppress(FileNotFoundError):
        os.rename(f"{spool}/{SPOOL_FILE}", f"{spool}/{SPOOL_FILE}.{os.getpid()}")
    reported: set[str] = set()
    names = os.listdir(spool) if os.path.isdir(spool) else []
    for name in names:
        if name.startswith(f"{SPOOL_FILE}."):
            with suppress(FileNotFoundError):  # another drain was faster
                reported |= _read_batch(f"{spool}/{name}")
    return reported


def _read_batch(path: str) -> set[str]:
    with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular) as file:
        reported = {worker for line in file if (worker := _worker_of(line)) is not None}
    os.unlink(path)
    return reported


def _worker_of(line: str) -> str | None:
    """Return the worker of the git directory that a hook's line names."""
    fields = line.rstrip("\n").split("\t")
    found = read_worktree_owner(fields[2]) if len(fields) > 2 else None
    return found[0] if found else None
