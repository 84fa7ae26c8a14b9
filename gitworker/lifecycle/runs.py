"""The end of supervised runs, recorded by the supervisor or by the command that finds it dead."""

from collections.abc import Sequence

from gitworker import clock
from gitworker.bus.publish import Outgoing, log_message, publish
from gitworker.lifecycle.state_files import publish_views
from gitworker.paths import unlock_worktree_of_agent
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.records.runs import Run, end_run, is_ordered_to_end
from gitworker.store.workers import find_worker

SUPERVISOR_DIED = "its supervisor was killed, so its exit status is unknown"


def record_end(
    writer: Writer,
    run: Run,
    *,
    status: int | None,
    reason: str,
    duration_ms: int | None,
    outcome: str | None = None,
) -> bool:
    """Record the end of a run, unlock its worktree, and publish `agent_stopped`.

    A reason is also published as an error in a `log` message. A status of None is unknown. Returns
    False, with nothing written, if the run has ended already.
    """
    now = clock.now_ms()
    if not end_run(writer, run.id, status=status, reason=reason, now=now):
        return False
    worker = find_worker(writer, run.worker_id)
    if worker is not None and worker.admin_dir is not None:
        unlock_worktree_of_agent(worker.admin_dir, run.pid)
    payload = {
        "pid": run.pid, "run": run.id, "command": run.command, "exit_status": status,
        "duration_s": None if duration_ms is None else duration_ms / 1000, "reason": reason or None,
        "outcome": outcome,
    }  # fmt: skip
    if reason:
        error = log_message(run.worker_id, run.task_id, "error", reason, level="error")
        publish(writer, error, now=now)
    stopped = Outgoing(
        "agent_stopped", sender=run.worker_id, correlation_id=run.task_id, payload=payload
    )
    publish(writer, stopped, now=now)
    return True


def settle_runs(session: Session, runs: Sequence[Run]) -> list[str]:
    """Record the end of runs whose agent and supervisor have both ended; return their workers.

    A run whose agent was ordered to end after the caller read it is left to the process that gave
    the order.
    """
    with session.store.write() as writer:
        for run in runs:
            if not run.why and is_ordered_to_end(writer, run):
                continue
            reason = run.why or SUPERVISOR_DIED
            record_end(writer, run, status=None, reason=reason, duration_ms=None)
    names = [run.worker_id for run in runs]
    publish_views(session, *names)
    return names
