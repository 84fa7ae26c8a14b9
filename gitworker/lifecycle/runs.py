"""The end of supervised runs, recorded by the supervisor or by the command that finds it dead."""

from collections.abc import Sequence

from gitworker import clock
from gitworker.bus.publish import Outgoing, publish
from gitworker.lifecycle.state_files import publish_views
from gitworker.paths import unlock_worktree_of_agent
from gitworker.session import Session
from gitworker.store.api import Row, Writer

SUPERVISOR_DIED = "its supervisor was killed, so its exit status is unknown"


def record_end(
    writer: Writer, run: Row, *, status: int | None, reason: str, duration_ms: int | None
) -> bool:
    """Record the end of a run, unlock its worktree, and publish `agent_stopped`.

    A reason is also published as an error in a `log` message. `run` has `id`, `worker_id`,
    `task_id`, `pid` and `command`; a status of None is unknown. Returns False, with nothing
    written, if the run has ended already.
    """
    now = clock.now_ms()
    if not writer.run("runs.end", run=run["id"], now=now, exit_status=status, reason=reason):
        return False
    worker = writer.row("workers.by_id", worker=run["worker_id"])
    if worker is not None and worker["admin_dir"] is not None:
        unlock_worktree_of_agent(worker["admin_dir"], run["pid"])
    writer.run("orphans.forget", run=run["id"])
    payload = {
        "pid": run["pid"], "run": run["id"], "command": run["command"], "exit_status": status,
        "duration_s": None if duration_ms is None else duration_ms / 1000, "reason": reason or None,
    }  # fmt: skip
    messages = [Outgoing("agent_stopped", payload=payload)]
    if reason:
        error = {"level": "error", "event": "error", "message": reason}
        messages.insert(0, Outgoing("log", payload=error))
    for message in messages:
        publish(
            writer,
            Outgoing(
                message.type, sender=run["worker_id"], correlation_id=run["task_id"],
                payload=message.payload,
            ),
            now=now,
        )  # fmt: skip
    return True


def settle_runs(session: Session, runs: Sequence[Row]) -> list[str]:
    """Record the end of runs whose agent and supervisor have both ended; return their workers."""
    with session.store.write() as writer:
        for run in runs:
            reason = run["why"] or SUPERVISOR_DIED
            record_end(writer, run, status=None, reason=reason, duration_ms=None)
    names = [str(run["worker_id"]) for run in runs]
    publish_views(session, *names)
    return names
