"""start: ASSIGNED→WORKING, bound to the agent's process, with heartbeats for it."""

from gitworker import clock
from gitworker.bus.publish import Outgoing, publish
from gitworker.claims.leases import require_task_held
from gitworker.errors import NotFound
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.moves import advance
from gitworker.lifecycle.state_files import publish_views
from gitworker.liveness.origin import this_origin
from gitworker.liveness.processes import find_calling_agent
from gitworker.liveness.start_daemon import ensure_heartbeat_daemon
from gitworker.model.worker import WorkerEvent
from gitworker.paths import lock_worktree_for_agent
from gitworker.processes.table import Process, find_process
from gitworker.repo.worktrees.ownership import has_worktree, owner_of
from gitworker.session import Session
from gitworker.store.heartbeats import record_heartbeat
from gitworker.store.workers import Worker, load_worker, set_process


def start(
    session: Session, name: str | None, *, pid: int | None = None, binds_caller: bool = True
) -> Worker:
    """Record the start of work and its process; the heartbeat daemon keeps the worker alive.

    Without `pid` the process is the nearest ancestor that is an agent, unless the caller is a
    server that starts for others (`binds_caller` is False). Without a process, only
    commands and commits count as heartbeats. Raises NotFound if `pid` does not run, Conflict if
    another agent has taken over the worker's claim on the task.
    """
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
    has_worktree(owner_of(session.repository.common_dir, worker))
    process = _process(pid) if pid is not None or binds_caller else None
    with session.store.write() as writer:
        require_task_held(writer, worker.task_id, worker.worker_id)
        advance(
            writer, worker, WorkerEvent.START, actor=session.actor,
            metadata={"pid": process.pid if process else None},
        )  # fmt: skip
        if process is not None:
            set_process(
                writer, worker.worker_id, pid=process.pid, start=process.start,
                origin=this_origin(),
            )  # fmt: skip
        record_heartbeat(
            writer, worker.worker_id, status="working", task=worker.task_id, progress=None
        )
        publish(
            writer,
            Outgoing(
                "agent_started",
                sender=worker.worker_id,
                correlation_id=worker.task_id,
                payload={"pid": process.pid if process else None},
            ),
            now=clock.now_ms(),
        )
        started = load_worker(writer, worker.worker_id)
    if process is not None:
        if started.admin_dir is not None:
            lock_worktree_for_agent(started.admin_dir, process.pid)
        ensure_heartbeat_daemon(session.paths, every_s=session.settings.liveness_beat_s)
    publish_views(session, worker.worker_id)
    return started


def _process(pid: int | None) -> Process | None:
    if pid is None:
        return find_calling_agent()
    process = find_process(pid)
    if process is None:
        raise NotFound(f"no process {pid} runs on this machine", "git worker start --pid $$")
    return process
