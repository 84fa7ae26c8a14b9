"""Record the start of an agent: state, process, run and messages, in the caller's transaction."""

import os

from gitworker import clock
from gitworker.agents.rules_run import may_restart, operation_refusal
from gitworker.bus.publish import Outgoing, log_message, publish
from gitworker.errors import Conflict
from gitworker.lifecycle.moves import bring_to_work
from gitworker.lifecycle.rules import is_assigned
from gitworker.liveness.process_origin import this_origin
from gitworker.liveness.supervised_agent import living_agent
from gitworker.observe.logs.tail import find_agent_log, log_size
from gitworker.paths import StatePaths
from gitworker.processes.table import find_start
from gitworker.store.api import Writer
from gitworker.store.heartbeats import record_heartbeat
from gitworker.store.messages.mailbox import newest_seq
from gitworker.store.records.runs import Run, begin_run, find_blocking_operation, find_latest_run
from gitworker.store.workers import Worker, find_worker, set_author_back, set_process
from gitworker.tasks.admission.admit import require_admitted


def record_start(
    writer: Writer,
    paths: StatePaths,
    worker: Worker,
    *,
    actor: str,
    lease_ms: int,
    pid: int,
    command: str,
    request: str | None = None,
    kind: str = "command",
    at_once: int | None = None,
) -> tuple[Run, int]:
    """Record that a process works as a worker, which starts, recovers or resumes if necessary.

    `at_once` limits the number of agents of this `kind`. Returns the run and the position after
    which orders to it count. A commit just before may have started its worker meanwhile. Raises
    Conflict if another command has changed the worker otherwise or an operation on it is open, and
    the errors of `require_admitted`.
    """
    name, task = worker.worker_id, worker.task_id
    assert task is not None
    found = find_worker(writer, name)
    running = living_agent(writer, paths, find_latest_run(writer, name))
    if found is None or running is not None or not _is_same_work(found, worker):
        raise Conflict(
            f"another command changed worker {name} at the same time", "git worker status"
        )
    refusal = operation_refusal(name, find_blocking_operation(writer, name, task))
    if refusal is not None:
        raise refusal
    require_admitted(
        writer, paths, worker=name, task=task, agent_type=kind, type_agents=at_once,
        has_begun=not is_assigned(found.state),
    )  # fmt: skip
    bring_to_work(writer, found, actor=actor, lease_ms=lease_ms, metadata={"pid": pid})
    now, here, start = clock.now_ms(), this_origin(), find_start(pid)
    set_process(writer, name, pid=pid, start=start, origin=here)
    set_author_back(writer, name)
    record_heartbeat(writer, name, status="working", task=task, progress=None)
    run = begin_run(
        writer, name, task, command=command, process=(pid, start),
        supervisor=(os.getpid(), find_start(os.getpid())), origin=here, now=now,
        request=request, log_start_bytes=log_size(find_agent_log(paths.logs, found)),
    )  # fmt: skip
    payload = {"pid": pid, "run": run.id, "command": command}
    started = Outgoing("agent_started", sender=name, correlation_id=task, payload=payload)
    publish(writer, started, now=now)
    publish(writer, log_message(name, task, "agent_start", command), now=now)
    return run, newest_seq(writer)


def _is_same_work(found: Worker, worker: Worker) -> bool:
    """Return whether an agent can start on the worker as it is now as on the one that was read."""
    same_task = found.task_id == worker.task_id and found.worktree == worker.worktree
    return same_task and may_restart(found.state, stale_from=found.stale_from)
