"""The start of work that an agent's session calls for, in a background job of its own.

The agent waits for its hook, and a start opens a session and may wait for the database. On the hot
path: only the job imports more.
"""

from __future__ import annotations

from gitworker.agents.hooks.rules_session import needs_start
from gitworker.liveness.processes import find_calling_agent
from gitworker.processes.jobs import start_job
from gitworker.processes.table import Process

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.session import Session


def start_begin_job(common_dir: str, worker: str) -> None:
    """Start the job that starts a worker, bound to the agent whose hook this process is."""
    agent = find_calling_agent()
    process = () if agent is None else (str(agent.pid), agent.start)
    start_job("begin", common_dir, worker, *process)


def begin_work(session: Session, name: str, *process: str) -> None:
    """Start a worker that has not begun or was interrupted; `process` is the agent's pid and start.

    Does nothing if its work has ended since: it was handed in, or failed.
    """
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
