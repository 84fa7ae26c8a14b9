"""The start of work that an agent's event calls for, in a background job of its own.

The agent waits for its hook, and a start opens a session and may wait for the database. The job
takes up interrupted work, too. It keeps a note of its last attempt in its lock file: the agent gets
the refusal with its next event, and nothing is repeated soon if nothing has changed.
On the hot path: only the job imports more.
"""

from __future__ import annotations

import os

from gitworker import clock
from gitworker.agents.hooks.hook_context import text_of_error
from gitworker.agents.hooks.rules_session import is_repeated, needs_start
from gitworker.errors import BUSY, GitWorkerError
from gitworker.liveness.processes import find_calling_agent
from gitworker.paths import open_regular
from gitworker.processes.jobs import start_job
from gitworker.processes.table import Process

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.session import Session

WAIT_FOR_JOB_MS = 2000  # at the end of a turn; a start takes 0.2 s


def start_begin_job(common_dir: str, worker: str) -> None:
    """Start the job that brings a worker to work, bound to the agent that has called this hook."""
    start_job("begin", common_dir, worker, *_calling_process())


def is_due(paths: StatePaths, worker: str, version: int) -> bool:
    """Return whether a sign of work starts the job; `version` is the present one of the worker."""
    at_ms, tried, _ = _read_note(_path(paths, worker))
    return is_repeated(version, tried=tried, age_ms=clock.now_ms() - at_ms)


def take_refusal(paths: StatePaths, worker: str, version: int) -> str:
    """Return the refusal that the agent has not heard yet, once; else ""."""
    tried, text = _mark_heard(_path(paths, worker))
    return text if tried == version else ""


def begin_now(session: Session, worker: str) -> str:
    """Bring a worker to work as the job does, but wait for a job that runs; return the refusal.

    Without effect if that job is still running after two seconds. Raises GitWorkerError if the
    worker cannot be read.
    """
    refusal = begin_work(session, worker, *_calling_process(), wait_ms=WAIT_FOR_JOB_MS)
    if refusal:
        _mark_heard(_path(session.paths, worker))  # the caller reports it
    return refusal


def begin_work(session: Session, name: str, *process: str, wait_ms: int = 0) -> str:
    """Start a worker that has not begun, or take up interrupted work; return the refusal, or "".

    `process` is the agent's pid and start. Does nothing if its work has ended since: it was handed
    in, or failed on purpose. Does nothing if another process starts the worker and has not ended
    within `wait_ms`.
    """
    from gitworker.bus.files.timed_lock import TimedLock
    from gitworker.store.workers import load_worker

    path = _path(session.paths, name)
    with TimedLock(path, wait_ms=wait_ms) as is_first:
        if not is_first:
            return ""
        with session.store.read() as reader:
            version = load_worker(reader, name).version
        _write_note(path, clock.now_ms(), version, "")
        try:
            _begin(session, name, process)
        except GitWorkerError as error:
            text = text_of_error(error)
            if error.code == BUSY:
                os.truncate(path, 0)
            else:
                _write_note(path, clock.now_ms(), version, text)
            return text
    return ""


def _begin(session: Session, name: str, process: tuple[str, ...]) -> None:
    from gitworker.lifecycle.rules_take_up import is_interrupted
    from gitworker.lifecycle.take_up import take_up_by_heartbeat
    from gitworker.store.workers import load_worker
    from gitworker.workers.start import start

    agent = None
    if process:
        pid, begun = process
        agent = Process(int(pid), parent=0, group=0, session=0, start=begun)
    with session.store.read() as reader:
        worker = load_worker(reader, name)
    if is_interrupted(worker.state) or worker.waits_for_author:
        take_up_by_heartbeat(session, worker, agent=agent)
    elif needs_start(worker.state, is_supervised=False, is_bound=False):
        start(session, worker.worker_id, agent=agent, binds_caller=False)


def _calling_process() -> tuple[str, ...]:
    agent = find_calling_agent()
    return () if agent is None else (str(agent.pid), agent.start)


def _mark_heard(path: str) -> tuple[int, str]:
    """Forget the refusal in a note; return the version of the worker then, and the refusal."""
    at_ms, version, text = _read_note(path)
    if text:
        _write_note(path, at_ms, version, "")
    return version, text


def _path(paths: StatePaths, worker: str) -> str:
    return f"{paths.locks}/begin-{worker}"


def _read_note(path: str) -> tuple[int, int, str]:
    """Return the time of the last attempt, the version of the worker then, and the refusal."""
    try:
        with open(path, encoding="utf-8", opener=open_regular) as file:
            head, _, text = file.read().partition("\n")
        at_ms, version = map(int, head.split())
    except (OSError, ValueError):
        return 0, -1, ""
    return at_ms, version, text


def _write_note(path: str, at_ms: int, version: int, text: str) -> None:
    """Write into the file that is the lock: it must not be replaced."""
    with open(path, "w", encoding="utf-8", opener=open_regular) as file:
        file.write(f"{at_ms} {version}\n{text}")
