"""The workers whose process runs here without heartbeats, because no heartbeat daemon does."""

from gitworker.liveness.readings import is_here, process_runs, this_moment
from gitworker.liveness.rules_stale import is_expected_to_report
from gitworker.liveness.start_daemon import ensure_heartbeat_daemon, is_daemon_running
from gitworker.liveness.supervised_agent import may_be_resumed
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.records.runs import find_latest_run
from gitworker.store.workers import Worker, all_workers


def served_workers(session: Session) -> list[Worker]:
    """Return the workers at work whose process on this machine needs the heartbeat daemon."""
    moment = this_moment()
    with session.store.read() as reader:
        return [
            worker
            for worker in all_workers(reader)
            if is_expected_to_report(worker.state)
            and is_here(worker, moment)
            and process_runs(worker, moment, session.paths)
            and not _is_supervised(reader, worker)
        ]


def start_missing_daemon(session: Session) -> None:
    """Start the heartbeat daemon if a process needs it; also one with a recent heartbeat."""
    if not is_daemon_running(session.paths) and served_workers(session):
        ensure_heartbeat_daemon(session.paths, every_s=session.settings.liveness_beat_s)


def _is_supervised(reader: Reader, worker: Worker) -> bool:
    """Return whether a supervisor runs the worker's agent, and sends its heartbeats."""
    run = find_latest_run(reader, worker.worker_id)
    if run is None or run.ended_at_ms is not None or run.pid != worker.pid:
        return False
    return may_be_resumed(run)
