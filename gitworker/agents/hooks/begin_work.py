"""The start of work that an agent's session calls for, in a background job of its own.

The agent waits for its hook, and a start opens a session and may wait for the database. A refusal
is in the log of background jobs; the end of the turn repeats the start and gives it to the agent.
On the hot path: only the job imports more.
"""

from __future__ import annotations

from gitworker.agents.hooks.rules_session import needs_start
from gitworker.liveness.processes import find_calling_agent
from gitworker.processes.jobs import start_job
from gitworker.processes.table import Process

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.session import Session

WAIT_FOR_JOB_MS = 2000  # at the end of a turn; a start takes 0.2 s


def start_begin_job(common_dir: str, worker: str) -> None:
    """Start the job that starts a worker, bound to the agent whose hook this process is."""
    start_job("begin", common_dir, worker, *_calling_process())


def begin_now(session: Session, worker: str) -> None:
    """Start a worker as the job does, but wait for a job that runs; raises the errors of `start`.

    Without effect if that job is still running after two seconds.
    """
    begin_work(session, worker, *_calling_process(), wait_ms=WAIT_FOR_JOB_MS)


def begin_work(session: Session, name: str, *process: str, wait_ms: int = 0) -> None:
    """Start a worker that has not begun or was interrupted; `process` is the agent's pid and start.

    Does nothing if its work has ended since: it was handed in, or failed. Does nothing if another
    process starts the worker and has not ended within `wait_ms`.
    """
    from gitworker.bus.files.timed_lock import TimedLock

    with TimedLock(f"{session.paths.locks}/begin-{name}", wait_ms=wait_ms) as is_first:
        if is_first:
            _begin(session, name, process)


def _calling_process() -> tuple[str, ...]:
    agent = find_calling_agent()
    return () if agent is None else (str(agent.pid), agent.start)


def _begin(session: Session, name: str, process: tuple[str, ...]) -> None:
    from gitworker.store.workers import load_worker
    from gitworker.workers.start import start

    with session.store.read() as reader:
        worker = load_worker(reader, name)
    if not needs_start(worker.state, is_supervised=False, is_bound=False):
        return
    agent = None
    if process:
        pid, begun = process
        agent = Process(int(pid), parent=0, group=0, session=0, start=begun)
    start(session, worker.worker_id, agent=agent, binds_caller=False)
