"""Take work up again: a worker's own command or commit brings the worker back to WORKING.

A STALE worker recovers, a FAILED one resumes with its branch, worktree and files as they are, an
ASSIGNED one starts. Work that was sent back no longer waits for its author.
"""

from __future__ import annotations

from gitworker.lifecycle.moves import bring_to_work
from gitworker.lifecycle.rules_take_up import (
    is_at_work,
    is_interrupted,
)
from gitworker.lifecycle.state_files import publish_views
from gitworker.liveness.origin import this_origin
from gitworker.liveness.processes import find_calling_agent
from gitworker.liveness.readings import process_runs, this_moment
from gitworker.liveness.start_daemon import ensure_heartbeat_daemon
from gitworker.paths import StatePaths
from gitworker.processes.table import Process
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.workers import (
    Worker,
    forget_process,
    load_worker,
    set_process,
)


def take_up(session: Session, worker: Worker) -> Worker:
    """Recover or resume an interrupted worker before its own command; return its present row.

    It is bound to the caller's process, if the caller is the worker and the recorded process has
    ended. Raises Refused if another worker holds the task now.
    """
    if not is_interrupted(worker.state) and not worker.waits_for_author:
        return worker
    caller = find_calling_agent() if session.actor == worker.worker_id else None
    with session.store.write() as writer:
        taken = bring_to_work(writer, worker, actor=session.actor, lease_ms=lease_of(session))
        bind_process(writer, session.paths, taken, caller)
        taken = load_worker(writer, worker.worker_id)
    if taken.pid is not None and is_at_work(taken.state):
        ensure_heartbeat_daemon(session.paths, every_s=session.settings.liveness_beat_s)
    publish_views(session, worker.worker_id)
    return taken


def bind_process(
    writer: Writer, paths: StatePaths, worker: Worker, process: Process | None
) -> bool:
    """Record the process of a worker unless its recorded one lives; return whether it changed.

    Without a process, one that has ended is forgotten: commands and commits count instead.
    """
    runs = process_runs(worker, this_moment(), paths)
    if runs or (process is None and runs is None):
        return False
    if process is None:
        forget_process(writer, worker.worker_id)
        return True
    set_process(
        writer, worker.worker_id, pid=process.pid, start=process.start, origin=this_origin()
    )
    return True


def lease_of(session: Session) -> int:
    """Return the length of the lease on a task, in milliseconds."""
    return session.settings.claims_lease_s * 1000
