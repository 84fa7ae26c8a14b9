"""Take work up again: a worker's own command or commit brings the worker back to WORKING.

A STALE worker recovers, a FAILED one resumes with its branch, worktree and files as they are, an
ASSIGNED one starts. Work that was sent back no longer waits for its author.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from gitworker.bus.drain import Skipped, drain, ignore
from gitworker.errors import GitWorkerError
from gitworker.lifecycle.lost_task import find_lost_task
from gitworker.lifecycle.moves import bring_to_work
from gitworker.lifecycle.rules_take_up import (
    ON_PURPOSE,
    has_not_started,
    is_at_work,
    is_interrupted,
    may_resume_unasked,
)
from gitworker.lifecycle.state_files import publish_views
from gitworker.liveness.process_origin import this_origin
from gitworker.liveness.processes import find_calling_agent
from gitworker.liveness.readings import process_runs, this_moment
from gitworker.liveness.start_daemon import ensure_heartbeat_daemon
from gitworker.model.ids import Oid, Ref
from gitworker.paths import StatePaths
from gitworker.processes.table import Process
from gitworker.progress import Notice
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.messages.transitions import transition_metadata
from gitworker.store.workers import (
    Worker,
    forget_process,
    load_worker,
    set_process,
)


def publish_commits(
    session: Session, workers: Sequence[Worker] | None = None, *, skipped: Skipped = ignore
) -> dict[Ref, Oid]:
    """Publish all unpublished commits, as `drain`; a commit starts or takes up its worker's work.

    A worker that failed on purpose stays FAILED, and so does one whose task another worker holds.
    """
    committed: list[Worker] = []
    refs = drain(session, workers, skipped=skipped, committed=committed.append)
    take_up_committed(session, committed)
    return refs


def take_up_committed(session: Session, committed: Sequence[Worker]) -> None:
    """Start or take up the work of workers that have just committed, as `publish_commits`."""
    for worker in committed:
        if has_not_started(worker.state) or _may_be_taken_up(session, worker):
            with suppress(GitWorkerError):  # another worker holds the task, or has just changed it
                take_up(session, worker, by_commit=True)


def take_up_by_heartbeat(session: Session, worker: Worker, *, agent: Process | None = None) -> None:
    """Take up the work of a worker that sends heartbeats, unless it failed on purpose.

    `agent` is its process if the caller's own ancestors do not show it. A worker whose task was
    cancelled or reset is warned.
    """
    if _may_be_taken_up(session, worker):
        take_up(session, worker, agent=agent)
        return
    is_own = session.actor == worker.worker_id
    name = worker.worker_id
    hint = f"git worker inbox --as {name}" if is_own else f"git worker show {name}"
    with session.store.read() as reader:
        lost = find_lost_task(reader, worker, hint=hint)
    if lost is not None:
        session.report(Notice(f"warning: {lost.message}\nhint: {lost.hint}"))


def take_up(
    session: Session, worker: Worker, *, by_commit: bool = False, agent: Process | None = None
) -> Worker:
    """Recover or resume an interrupted worker before its own command; return its present row.

    It is bound to `agent`, or else to the caller's process, if the caller is the worker and the
    recorded process has ended. `by_commit`: a commit was published, also by another command; it
    starts an ASSIGNED worker too. Raises Refused if another worker holds the task now.
    """
    actor = worker.worker_id if by_commit else session.actor
    if not _may_change(worker, by_commit=by_commit):
        return worker
    is_own = session.actor == worker.worker_id and not by_commit
    caller = (agent or find_calling_agent()) if is_own else None
    with session.store.write() as writer:
        current = load_worker(writer, worker.worker_id)
        if current.task_id != worker.task_id or not _may_change(current, by_commit=by_commit):
            return current  # an agent may have begun and ended meanwhile
        taken = bring_to_work(writer, current, actor=actor, lease_ms=lease_of(session))
        bind_process(writer, session.paths, taken, caller)
        taken = load_worker(writer, worker.worker_id)
    if taken.pid is not None and is_at_work(taken.state):
        ensure_heartbeat_daemon(session.paths, every_s=session.settings.liveness_beat_s)
    publish_views(session, worker.worker_id)
    return taken


def _may_change(worker: Worker, *, by_commit: bool) -> bool:
    """Return whether a command or a commit of the worker brings it back to work."""
    starts = by_commit and has_not_started(worker.state)
    return starts or is_interrupted(worker.state) or worker.waits_for_author


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


def _may_be_taken_up(session: Session, worker: Worker) -> bool:
    """Return whether a heartbeat or a commit brings a worker back to work."""
    if not is_interrupted(worker.state):
        return worker.waits_for_author
    with session.store.read() as reader:
        facts = transition_metadata(reader, worker.worker_id, worker.version)
    return may_resume_unasked(worker.state, on_purpose=bool(facts.get(ON_PURPOSE)))
