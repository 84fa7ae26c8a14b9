"""start and resume: bring a worker to WORKING, bound to the agent's process, with heartbeats."""

import os

from gitworker import clock
from gitworker.bus.publish import Outgoing, publish
from gitworker.claims.leases import require_task_held
from gitworker.errors import NotFound, Refused
from gitworker.lifecycle.fail import recover
from gitworker.lifecycle.find import require_worker
from gitworker.lifecycle.lost_task import refuse_lost_task
from gitworker.lifecycle.moves import bring_to_work, has_paused_task
from gitworker.lifecycle.rules_take_up import is_at_work
from gitworker.lifecycle.state_files import publish_views
from gitworker.lifecycle.take_up import bind_process, lease_of
from gitworker.liveness.process_origin import this_origin
from gitworker.liveness.processes import find_calling_agent, runs_us_in_a_container
from gitworker.liveness.readings import process_runs, this_moment
from gitworker.liveness.start_daemon import ensure_heartbeat_daemon
from gitworker.model.worker import WorkerEvent, WorkerState
from gitworker.paths import lock_worktree_for_agent
from gitworker.processes.table import Process, find_process
from gitworker.progress import Notice
from gitworker.repo.worktrees.ownership import owner_of, require_owned
from gitworker.session import Session
from gitworker.states.worker_machine import require_transition
from gitworker.store.api import Writer
from gitworker.store.heartbeats import record_heartbeat, renew_heartbeat
from gitworker.store.workers import Worker, load_worker, set_process

INIT = 1  # it lives as long as the machine, so it says nothing about an agent


def start(
    session: Session,
    name: str | None,
    *,
    pid: int | None = None,
    agent: Process | None = None,
    binds_caller: bool = True,
) -> Worker:
    """Record the start of work and its process; the heartbeat daemon keeps the worker alive.

    A STALE worker recovers and a FAILED one resumes. A worker that is at work already is only bound
    to a new process, if its recorded one has ended or `pid` is given.

    Without `pid` the process is the nearest ancestor that is an agent, unless the caller acts for
    others (`binds_caller` is False): then it is the `agent` that the caller has found, and the
    status of its last heartbeat stays, since it may have become blocked in the meantime. Without a
    process, only commands and commits count as heartbeats. Raises NotFound if `pid` does not run,
    Conflict if another agent has taken over the worker's claim on the task, Refused if another
    worker holds it.
    """
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
        refuse_lost_task(reader, session, worker)
    process = _process(worker, pid) if pid is not None or binds_caller else agent
    return _begin(
        session, worker, WorkerEvent.START, process,
        is_given=pid is not None, keeps_status=not binds_caller,
    )  # fmt: skip


def resume(
    session: Session, name: str | None, *, pid: int | None = None, binds_caller: bool = True
) -> Worker:
    """Take up the work of a FAILED, STALE or sent-back worker, with its branch and files as is.

    A worker that became STALE in review is in review again. Otherwise like `start`, but a caller
    that is not the worker is not recorded as its process: the command that starts an agent is
    reported instead.
    """
    with session.store.read() as reader:
        worker = require_worker(reader, name, session)
        refuse_lost_task(reader, session, worker)
    if worker.stale_from is WorkerState.IN_REVIEW:
        return recover(session, worker.worker_id)
    binds = binds_caller and session.actor == worker.worker_id
    process = _process(worker, pid) if pid is not None or binds else None
    resumed = _begin(session, worker, WorkerEvent.RESUME, process, is_given=pid is not None)
    if pid is None and not binds and not process_runs(resumed, this_moment(), session.paths):
        name = worker.worker_id
        session.report(
            Notice(
                f'no agent works as {name}; work there yourself: cd "$(git worker path {name})", or'
                f" start one: git worker resume {name} -d -- <command>"
            )
        )
    return resumed


def _begin(
    session: Session,
    worker: Worker,
    event: WorkerEvent,
    process: Process | None,
    *,
    is_given: bool,
    keeps_status: bool = False,
) -> Worker:
    owner = owner_of(session.repository.common_dir, worker)
    if owner is not None:
        require_owned(owner)
    with session.store.write() as writer:
        # A commit just before starts its worker in the background.
        worker = load_worker(writer, worker.worker_id)
        was_paused = has_paused_task(writer, worker)
        taken = bring_to_work(
            writer, worker, actor=session.actor, lease_ms=lease_of(session),
            metadata={"pid": process.pid if process else None},
        )  # fmt: skip
        if not is_at_work(taken.state):
            require_transition(
                worker.worker_id, worker.state, event, stale_from=worker.stale_from,
                is_own=session.actor == worker.worker_id,
            )  # fmt: skip
        require_task_held(writer, worker.task_id, worker.worker_id)
        has_new_process = _bind(writer, session, taken, process, is_given=is_given)
        changes = has_new_process or taken.version != worker.version
        changes = changes or was_paused or worker.waits_for_author
        if changes:
            _publish_start(writer, worker, process, keeps_status=keeps_status)
        started = load_worker(writer, worker.worker_id)
    if not changes:
        if event is WorkerEvent.START or process_runs(started, this_moment(), session.paths):
            words = f"worker {worker.worker_id} is at work already: nothing changed"
            session.report(Notice(words))
        return started
    if process is not None:
        if started.admin_dir is not None:
            lock_worktree_for_agent(started.admin_dir, process.pid)
        ensure_heartbeat_daemon(session.paths, every_s=session.settings.liveness_beat_s)
    publish_views(session, worker.worker_id)
    return started


def _bind(
    writer: Writer, session: Session, worker: Worker, process: Process | None, *, is_given: bool
) -> bool:
    """Record the process of a worker at work; return whether it is another one than before."""
    if process is None or not is_given:
        return bind_process(writer, session.paths, worker, process)
    if (worker.pid, worker.pid_start) == (process.pid, process.start):
        return False
    set_process(
        writer, worker.worker_id, pid=process.pid, start=process.start, origin=this_origin()
    )
    return True


def _publish_start(
    writer: Writer, worker: Worker, process: Process | None, *, keeps_status: bool
) -> None:
    name, task = worker.worker_id, worker.task_id
    if keeps_status:
        renew_heartbeat(writer, name, task=task)
    else:
        record_heartbeat(writer, name, status="working", task=task, progress=None)
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


def _process(worker: Worker, pid: int | None) -> Process | None:
    if pid is None:
        return find_calling_agent()
    process = find_process(pid)
    if process is None:
        raise NotFound(
            f"no process {pid} runs on this machine",
            f"git worker start {worker.worker_id} --pid $$",
        )
    if (pid == INIT and not runs_us_in_a_container(pid)) or not _is_ours(pid):
        raise Refused(
            f"process {pid} belongs to the system or to another user: it is no agent of yours",
            f"git worker start {worker.worker_id} --pid $$",
        )
    return process


def _is_ours(pid: int) -> bool:
    """Return whether we may signal a process."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return False
    except ProcessLookupError:  # it has just ended
        pass
    return True
