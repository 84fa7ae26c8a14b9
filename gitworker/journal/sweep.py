"""Apply the changes that time makes due; every command does it, so no daemon is needed.

It is on the path of every command: a worker with a recent heartbeat costs no query and no check of
its process, and the module that applies a change is imported only if there is one.
"""

from typing import NamedTuple

from gitworker.lifecycle.rules import is_assigned
from gitworker.liveness.readings import (
    is_here,
    lost_runs,
    process_runs,
    read_heartbeats,
    silent_runs,
    this_moment,
)
from gitworker.liveness.rules_stale import (
    ClockReading,
    Heartbeat,
    WorkerFacts,
    due_event,
    is_expected_to_report,
    is_lost_before_start,
    is_quiet,
    may_time_out,
)
from gitworker.model.worker import WorkerEvent
from gitworker.paths import is_locked_by_agent, unlock_worktree_of_agent
from gitworker.session import Session
from gitworker.store.heartbeats import renew_heartbeat
from gitworker.store.records.runs import open_runs
from gitworker.store.tasks import due_retries, has_due_questions, unblocked_tasks
from gitworker.store.workers import Worker, all_workers
from gitworker.worktrees.moved_worktrees import follow_moves

PROMOTED_AT_ONCE = 20  # 10 ms; the next command continues
Quiet = list[tuple[Worker, WorkerFacts]]


class SweepResult(NamedTuple):
    """The workers that changed, and all workers now; None if they must be read again."""

    changed: list[str]
    workers: list[Worker] | None


def sweep(session: Session) -> SweepResult:
    """Apply the events that are due: stale, recovered and expired workers, retries, READY tasks.

    If a worker's process runs although its heartbeat daemon has died, this records a heartbeat and
    starts a new daemon: a busy worker is never taken for a dead one. The same holds for an agent
    whose supervisor has died.
    """
    moment = this_moment()
    with session.store.read() as reader:
        workers = all_workers(reader)
        heartbeats = read_heartbeats(reader)
        retries = due_retries(reader, moment.now_ms)
        runs = open_runs(reader)
        unblocked = unblocked_tasks(reader, 1)
        asks = has_due_questions(reader, moment.now_ms)
    lost = lost_runs(runs, moment)
    dead_ms = session.settings.liveness_dead_s * 1000
    silent = silent_runs(
        runs, heartbeats, moment, paths=session.paths, dead_ms=dead_ms,
        elsewhere={one.worker_id for one in workers if one.elsewhere is not None},
    )  # fmt: skip
    if lost.over or silent:
        from gitworker.lifecycle.runs import (
            settle_runs,  # 10 ms, only after a supervisor was killed
        )

        settle_runs(session, [*lost.over, *silent])
    if lost.orphans:  # the daemon ends them: there is one, so none is signalled twice
        _ensure_daemon(session)
    _unlock_left(session, workers, moment)
    moved = follow_moves(session, workers)
    quiet = _quiet(session, workers, heartbeats, moment)
    if quiet and _revive(session, quiet, moment):
        with session.store.read() as reader:
            quiet = _quiet(session, workers, read_heartbeats(reader), moment)
    due = [
        (worker, event)
        for worker, facts in quiet
        if (event := due_event(facts, moment, session.settings))
    ]
    due += _lost_before_start(session, workers)
    if unblocked:
        from gitworker.tasks.queue.promote import promote_ready  # 3 ms, only if a task is unblocked

        promote_ready(session, PROMOTED_AT_ONCE)
    if asks:
        from gitworker.questions.settle_questions import settle_questions  # 5 ms, if one is due

        settle_questions(session)
    if not due and not retries:
        return SweepResult([], None if moved else workers)
    from gitworker.lifecycle.stale_and_retry import apply_due  # 10 ms, only when something is due

    return SweepResult(apply_due(session, due, retries), None)


def _unlock_left(session: Session, workers: list[Worker], moment: ClockReading) -> None:
    """Remove our lock from worktrees whose agent has ended unnoticed."""
    for worker in workers:
        if worker.admin_dir is None or worker.pid is None:
            continue
        if not worker.admin_dir.startswith(f"{session.repository.common_dir}/"):
            continue  # it belongs to the repository of which this one is a copy
        if not is_locked_by_agent(worker.admin_dir):
            continue
        if process_runs(worker, moment, session.paths) is False:
            unlock_worktree_of_agent(worker.admin_dir, worker.pid)


def _quiet(
    session: Session, workers: list[Worker], heartbeats: dict[str, Heartbeat], moment: ClockReading
) -> Quiet:
    """Return the workers that time can change and that have no recent heartbeat, with the facts."""
    found = []
    for worker in workers:
        heartbeat = heartbeats.get(worker.worker_id)
        if not may_time_out(worker.state) or not is_quiet(
            worker.state, heartbeat, moment, session.settings
        ):
            continue
        facts = WorkerFacts(
            state=worker.state,
            stale_from=worker.stale_from,
            changed_at_ms=worker.state_changed_at_ms,
            heartbeat=heartbeat,
            process_runs=process_runs(worker, moment, session.paths),
            waits_for_author=worker.waits_for_author,
            in_fleet=session.store.fleet_machine is not None,
            is_elsewhere=worker.elsewhere is not None,
        )
        found.append((worker, facts))
    return found


def _lost_before_start(session: Session, workers: list[Worker]) -> list[tuple[Worker, WorkerEvent]]:
    """Return the end of the workers that have not started on machines which are silent."""
    waiting = [one for one in workers if one.elsewhere is not None and is_assigned(one.state)]
    if not waiting:
        return []
    from gitworker.store.fleet.machines import silent_machines  # 2 ms, only in a fleet

    with session.store.read() as reader:
        silent_ms = silent_machines(reader)
    return [
        (one, WorkerEvent.EXPIRE)
        for one in waiting
        if is_lost_before_start(silent_ms.get(one.elsewhere or "", 0), session.settings)
    ]


def _revive(session: Session, quiet: Quiet, moment: ClockReading) -> bool:
    """Record a heartbeat for workers whose process runs without one; return whether any did.

    A worker of another PID namespace has its own daemon there, so it gets only this heartbeat.
    """
    silent = [w for w, facts in quiet if is_expected_to_report(w.state) and facts.process_runs]
    ours = [worker for worker in silent if is_here(worker, moment)]
    if ours and _has_daemon(session):
        silent = [worker for worker in silent if worker not in ours]
        ours = []
    if not silent:
        return False
    with session.store.write_own(durable=False) as writer:
        for worker in silent:
            renew_heartbeat(writer, worker.worker_id, task=worker.task_id)
    if ours:
        _ensure_daemon(session)
    return True


def _has_daemon(session: Session) -> bool:
    from gitworker.liveness.start_daemon import is_daemon_running  # 1 ms, only for a silent worker

    return is_daemon_running(session.paths)


def _ensure_daemon(session: Session) -> None:
    from gitworker.liveness.start_daemon import ensure_heartbeat_daemon

    ensure_heartbeat_daemon(session.paths, every_s=session.settings.liveness_beat_s)
