"""Run the setup commands of a new worktree (`worktree.setup`) once, in order, before any agent.

They run in their own process session, which ends with this process, and write to a log. If a setup
fails, or is killed with its spawn, the worker is FAILED and keeps its worktree.
"""

import os
import select
from contextlib import suppress

from gitworker import clock
from gitworker.config import Settings
from gitworker.crashpoint import crash_point
from gitworker.errors import GitWorkerError, Refused
from gitworker.lifecycle.fail import fail
from gitworker.lifecycle.rules import SETUP_FAILED, is_assigned
from gitworker.liveness.process_origin import is_local
from gitworker.model.ids import Origin
from gitworker.paths import open_regular
from gitworker.processes.table import is_running
from gitworker.progress import OutputLine, Progress
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
INTERRUPTED = "it was interrupted"
KILLED = "its spawn was killed while the setup ran"


class _SetupTree:
    """The worktree in which the commands run; it records no processes, unlike verify's."""

    def __init__(self, tree: str) -> None:
        self.tree = tree

    def record(self, family: RunProcesses) -> None:
        """Do nothing: the journal names the process."""

    def forget(self) -> None:
        """Do nothing."""


class SetupRun:
    """The running setup commands of a worker's new worktree; each has worktree.setup_timeout_s.

    Their output is written to a log. `fileno` is readable when they have something to report.
    """

    def __init__(self, session: Session, operation: int, worker: Worker) -> None:
        """Start the commands; if that fails, the worker is FAILED and the error is raised."""
        self.worker = worker
        self._session = session
        self._operation = operation
        self._ended: RunResult | None = None
        try:
            stamp = clock.now_ms()
            self._log = RunLog(f"{session.paths.logs}/setup", tree=worker.worker_id, now_ms=stamp)
            self.output = _LogFollower(self._log.path, session.report)
            self._run = _start(session, worker, self._log)
        except BaseException:
            self._settle(INTERRUPTED)
            raise

    def fileno(self) -> int:
        """Return the descriptor on which the commands report their progress."""
        return self._run.fileno()

    def time_left_ms(self) -> int:
        """Return the time left for the present command."""
        return self._run.time_left_ms()

    def has_ended(self) -> bool:
        """Return whether the commands have ended; end them if their time or space is used up."""
        if self._ended is None:
            if self._run.has_ended():
                self._ended = self._run.end()
            elif self._run.time_left_ms() == 0 or self._run.has_flooded:
                self._ended = self._run.kill()
        return self._ended is not None

    def stop(self) -> None:
        """End running commands; the worker is FAILED then. Safe to repeat."""
        if self._ended is None:
            try:
                self._ended = self._run.kill()._replace(reason=INTERRUPTED)
                with suppress(GitWorkerError):  # a full disk
                    self._log.close("failed", self._ended.duration_ms, INTERRUPTED)
            finally:
                self.output.close()
                self._settle(INTERRUPTED)

    def finish(self) -> None:
        """Record the end of commands that have ended.

        Raises Refused if one failed; the worker is then FAILED and keeps its worktree.
        """
        assert self._ended is not None
        reason = self._ended.reason
        try:
            self._log.close("failed" if reason else "passed", self._ended.duration_ms, reason)
            detail = self.output.last_lines()
        finally:
            self.output.close()
            self._settle(reason)
        crash_point("setup.closed")
        if reason:
            raise Refused(
                f"the setup of {self.worker.worktree} failed: {reason}",
                f"git worker resume {self.worker.worker_id}   # repeats it; or drop the worktree:"
                f" git worker reset {self.worker.worker_id}; the output is in {self._log.path}",
                code="setup_failed",
                detail=detail,
            )

    def _settle(self, reason: str) -> None:
        """Close the operation, and with a reason make the worker FAILED."""
        if reason:
            _fail(self._session, self._operation, self.worker, f"{SETUP_FAILED}{reason}")
        _close(self._session, self._operation)


def run_setup_commands(session: Session, operation: int, worker: Worker) -> None:
    """Run the setup commands in a worker's new worktree, and report their output line by line.

    Raises Refused if one fails; the worker is then FAILED and keeps its worktree. An interrupt
    counts as a failure and is raised again.
    """
    setup = SetupRun(session, operation, worker)
    try:
        poll = select.poll()
        poll.register(setup, select.POLLIN)
        while not setup.has_ended():
            poll.poll(min(TICK_MS, setup.time_left_ms()))
            setup.output.catch_up()
        setup.output.catch_up()
    finally:
        setup.stop()
    setup.finish()


def finish_setups(session: Session) -> list[Operation]:
    """Fail the workers whose setup was killed with its spawn; return those operations."""
    with session.store.read() as reader:
        pending = [one for one in unfinished_operations(reader) if one.kind == "setup"]
    ended = []
    for one in pending:
        if _is_dead(one, session.settings):
            with session.store.read() as reader:
                worker = find_worker(reader, one.worker_id)
            if worker is not None and worker.task_id == one.task_id:
                _end_escaped(one, worker)
                _fail(session, one.id, worker, f"{SETUP_FAILED}{KILLED}")
            _close(session, one.id)
            ended.append(one)
    return ended


def _end_escaped(operation: Operation, worker: Worker) -> None:
    """End processes of a killed setup that left its session; the others ended with the spawn."""
    if is_local(_origin(operation)) and worker.worktree is not None:
        start = operation.payload(SetupData).start
        end_orphans(RunProcesses(0, start, worker.worktree))


def _is_dead(operation: Operation, settings: Settings) -> bool:
    """Return whether the process that runs a setup has ended.

    A process of another host, boot or PID namespace counts as ended once the time limits of all
    commands have passed.
    """
    data = operation.payload(SetupData)
    if is_local(_origin(operation)):
        return is_running(data.pid, data.start) is False
    limit_s = settings.worktree_setup_timeout_s * (len(settings.worktree_setup) + 1)
    return clock.now_ms() - operation.created_at_ms > limit_s * 1000


def _origin(operation: Operation) -> Origin:
    data = operation.payload(SetupData)
    return (data.host, data.boot, data.pid_ns)


def _start(session: Session, worker: Worker, log: RunLog) -> CommandRun:
    """Start the commands in the worker's worktree."""
    tree = worker.worktree or ""
    env = command_environment(os.environ, {}, tree=tree, scrubbed=LOCAL_ENV)
    env.pop("GITWORKER_VERIFY", None)
    env.update(
        GITWORKER_ID=worker.worker_id,
        GITWORKER_TASK=worker.task,
        GITWORKER_BRANCH=worker.branch or "",
        GITWORKER_WORKTREE=tree,
        GITWORKER_REPOSITORY=session.main_top,
    )
    run = CommandRun(
        _SetupTree(tree),
        log.descriptor,
        commands=session.settings.worktree_setup,
        env=env,
        timeout_s=session.settings.worktree_setup_timeout_s,
    )
    crash_point("setup.started")
    return run


class _LogFollower:
    """Reports a log while it is written; works even if the file is deleted meanwhile."""

    def __init__(self, path: str, report: Progress) -> None:
        self._file = open(path, "rb", buffering=0, opener=open_regular)  # noqa: SIM115 - it lives as long as we do
        self._report = report
        self._at = 0

    def catch_up(self) -> None:
        """Report the complete lines written since the last call."""
        self._file.seek(self._at)
        while whole := self._file.read(CHUNK):
            end = whole.rfind(b"\n") + 1 or (len(whole) if len(whole) == CHUNK else 0)
            if not end:
                return
            self._at += end
            self._file.seek(self._at)
            self._report(OutputLine(whole[:end].decode("utf-8", "replace").strip("\n")))

    def last_lines(self) -> str:
        """Return the last 20 lines of the log, at most 4 KiB."""
        size = os.fstat(self._file.fileno()).st_size
        self._file.seek(max(0, size - 4096))
        return "\n".join(self._file.read().decode("utf-8", "replace").strip().splitlines()[-20:])

    def close(self) -> None:
        """Close the file."""
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
    with session.store.write_own() as writer:
        operation = find_operation(writer, number)
        if operation is not None and operation.status == "open":
            close_operation(
                writer, number, status="done", step="ended", data=operation.data,
                now=clock.now_ms(),
            )  # fmt: skip
