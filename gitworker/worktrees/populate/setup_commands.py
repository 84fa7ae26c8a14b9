"""The setup commands of a new worktree (`worktree.setup`): run once, in order, before any agent.

They run in a session of their own, which ends with us, with their output in a log. A setup that
fails, or that was killed with its spawn, leaves a FAILED worker with its worktree.
"""

import os
import select
from collections.abc import Callable
from contextlib import closing, suppress

from gitworker import clock
from gitworker.config import Settings
from gitworker.crashpoint import crash_point
from gitworker.errors import Refused
from gitworker.lifecycle.fail import fail
from gitworker.lifecycle.rules import is_assigned
from gitworker.liveness.origin import Origin, is_local
from gitworker.liveness.processes import is_running
from gitworker.paths import open_regular
from gitworker.repo.plumbing.git_environment import LOCAL_ENV
from gitworker.session import Session
from gitworker.states.engine import InvalidTransition
from gitworker.store.operations import (
    Operation,
    close_operation,
    find_operation,
    unfinished_operations,
)
from gitworker.store.payloads.spawn_data import SetupData
from gitworker.store.workers import Worker, find_worker
from gitworker.verify.rules_verify import command_environment
from gitworker.verify.run_processes import RunProcesses, end_orphans
from gitworker.verify.verify_run import CommandRun, RunLog, RunResult

TICK_MS = 500
CHUNK = 1 << 16
KILLED = "its spawn was killed while the setup ran"


class _Bench:
    """Where the commands run; what is known of their processes ends with them."""

    def __init__(self, tree: str) -> None:
        self.tree = tree

    def record(self, family: RunProcesses) -> None:
        """Note nothing: who runs this stands in the journal."""

    def forget(self) -> None:
        """Forget nothing."""


def run_setup(
    session: Session, operation: int, worker: Worker, *, narrate: Callable[[str], None] | None
) -> None:
    """Run the setup commands in a worker's new worktree; each has worktree.setup_timeout_s.

    What they write goes to a log and, line by line, to `narrate`. Raises Refused if one fails:
    the worker is FAILED then, its worktree stays. An interrupt counts as a failure and goes on.
    """
    reason = "it was interrupted"
    try:
        log = RunLog(f"{session.paths.logs}/setup", tree=worker.worker_id, now_ms=clock.now_ms())
        with closing(_Told(log.path, narrate or (lambda _: None))) as told:
            ended = _run(session, worker, log, told)
            reason = ended.reason
            log.close("failed" if reason else "passed", ended.duration_ms, reason)
            last_lines = told.last_lines()
    finally:
        if reason:
            _fail(session, operation, worker, f"setup: {reason}")
    _close(session, operation)
    crash_point("setup.closed")
    if reason:
        raise Refused(
            f"the setup of {worker.worktree} failed: {reason}",
            f"git worker reset {worker.worker_id}   (its worktree stays until then; the output is"
            f" in {log.path})",
            code="setup_failed",
            detail=last_lines,
        )


def finish_setups(session: Session) -> list[Operation]:
    """Fail the workers whose setup was killed with its spawn; return those acts."""
    with session.store.read() as reader:
        pending = [one for one in unfinished_operations(reader) if one.kind == "setup"]
    ended = []
    for one in pending:
        if _is_dead(one, session.settings):
            with session.store.read() as reader:
                worker = find_worker(reader, one.worker_id)
            if worker is not None and worker.task_id == one.task_id:
                _end_left(one, worker)
                _fail(session, one.id, worker, f"setup: {KILLED}")
            _close(session, one.id)
            ended.append(one)
    return ended


def _end_left(operation: Operation, worker: Worker) -> None:
    """End what a killed setup has sent out of its session, which ended with its spawn."""
    if is_local(_origin(operation)) and worker.worktree is not None:
        start = operation.payload(SetupData).start
        end_orphans(RunProcesses(0, start, worker.worktree))


def _is_dead(operation: Operation, settings: Settings) -> bool:
    """Return whether the process that runs a setup has ended.

    One of another host, boot or PID namespace has ended once every command has used up its time.
    """
    data = operation.payload(SetupData)
    if is_local(_origin(operation)):
        return is_running(data.pid, data.start) is False
    limit_s = settings.worktree_setup_timeout_s * (len(settings.worktree_setup) + 1)
    return clock.now_ms() - operation.created_at_ms > limit_s * 1000


def _origin(operation: Operation) -> Origin:
    data = operation.payload(SetupData)
    return (data.host, data.boot, data.pid_ns)


def _run(session: Session, worker: Worker, log: RunLog, told: "_Told") -> RunResult:
    """Run the commands to their end, and return how that was."""
    tree = worker.worktree or ""
    env = command_environment(os.environ, {}, tree=tree, scrubbed=LOCAL_ENV)
    env.pop("GITWORKER_VERIFY", None)
    env.update(
        GITWORKER_ID=worker.worker_id,
        GITWORKER_TASK=worker.task_id or "",
        GITWORKER_BRANCH=worker.branch or "",
        GITWORKER_WORKTREE=tree,
        GITWORKER_REPOSITORY=session.main_top,
    )
    run = CommandRun(
        _Bench(tree),
        log.descriptor,
        commands=session.settings.worktree_setup,
        env=env,
        timeout_s=session.settings.worktree_setup_timeout_s,
    )
    crash_point("setup.started")
    poll = select.poll()
    poll.register(run, select.POLLIN)
    try:
        while not run.has_ended():
            if run.time_left_ms() == 0 or run.has_flooded:
                return run.kill()
            poll.poll(min(TICK_MS, run.time_left_ms()))
            told.catch_up()
    except BaseException:
        run.kill()
        raise
    ended = run.end()
    told.catch_up()
    return ended


class _Told:
    """The part of a log that was shown; reading continues if the file is deleted meanwhile."""

    def __init__(self, path: str, narrate: Callable[[str], None]) -> None:
        self._file = open(path, "rb", buffering=0, opener=open_regular)  # noqa: SIM115 - it lives as long as we do
        self._narrate = narrate
        self._at = 0

    def catch_up(self) -> None:
        """Tell the whole lines that have come since."""
        self._file.seek(self._at)
        while whole := self._file.read(CHUNK):
            end = whole.rfind(b"\n") + 1 or (len(whole) if len(whole) == CHUNK else 0)
            if not end:
                return
            self._at += end
            self._file.seek(self._at)
            self._narrate(whole[:end].decode("utf-8", "replace").strip("\n"))

    def last_lines(self) -> str:
        """Return the end of the log, as much as a message has room for."""
        size = os.fstat(self._file.fileno()).st_size
        self._file.seek(max(0, size - 4096))
        return "\n".join(self._file.read().decode("utf-8", "replace").strip().splitlines()[-20:])

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _fail(session: Session, operation: int, worker: Worker, reason: str) -> None:
    """Make the worker FAILED, unless another command has changed it already."""
    with session.store.read() as reader:
        now = find_worker(reader, worker.worker_id)
    if now is not None and now.task_id == worker.task_id and is_assigned(now.state):
        with suppress(InvalidTransition):
            fail(session, worker.worker_id, reason=reason)
    crash_point("setup.failed")
    _close(session, operation)


def _close(session: Session, number: int) -> None:
    with session.store.write() as writer:
        operation = find_operation(writer, number)
        if operation is not None and operation.status == "open":
            close_operation(
                writer, number, status="done", step="ended", data=operation.data,
                now=clock.now_ms(),
            )  # fmt: skip
