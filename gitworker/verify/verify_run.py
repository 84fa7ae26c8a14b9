"""One run of commands in a worktree: a shell with its own session, its log, its end.

The shell reports over a socket which command it begins and the status of the last one. A guard
beside it reads the same socket: if we die, it ends the whole group.
"""

import os
import select
import socket
from typing import NamedTuple, Protocol

from gitworker import clock, proc
from gitworker.crashpoint import crash_point
from gitworker.errors import GitWorkerError, Unavailable, is_disk_full
from gitworker.processes.table import find_start
from gitworker.verify.rules_verify import (
    flood_reason,
    status_reason,
    timeout_reason,
    verdict_text,
)
from gitworker.verify.run_processes import RunProcesses, end_processes

# Descriptor 3 is the socket; no command inherits it. The guard is ended before the end is reported,
# since processes that remain in the group afterwards count as left behind by the commands.
COMMANDS = """\
exec 3<&0 </dev/null
(read -r gone <&3; kill -s KILL 0) >/dev/null 2>&1 &
guard=$!
number=0 status=0
for command; do
    printf '\\n$ %s\\n' "$command"
    printf 'begins %d\\n' "$number" >&3
    /bin/sh -c -- "$command" 3>&-
    status=$?
    [ "$status" -eq 0 ] || break
    number=$((number + 1))
done
kill "$guard"
printf 'ends %d\\n' "$status" >&3
"""
DAY_MS = 86_400_000
LOG_BYTES = 1024 * 1024 * 1024  # the limit for a program that writes without end
SPARE_BYTES = 1024 * 1024  # with less free space after a failure the disk counts as the cause


class RunResult(NamedTuple):
    """The end of a run: the reason of a failure (empty: it passed) and the duration."""

    reason: str
    duration_ms: int


class RunLocation(Protocol):
    """The location of a run: a verify slot, or a new worktree that is set up."""

    @property
    def tree(self) -> str:
        """Return the worktree."""
        ...

    def record(self, family: RunProcesses) -> None:
        """Record the process that is about to run here."""
        ...

    def forget(self) -> None:
        """Delete the record: the process has ended."""
        ...


class CommandRun:
    """Commands that run in a prepared location; stop them with `end` or `kill`."""

    def __init__(
        self,
        location: RunLocation,
        log: int,
        *,
        commands: tuple[str, ...],
        env: dict[str, str],
        timeout_s: int,
    ) -> None:
        self.location = location
        self.started_ms = clock.monotonic_ms()
        self._commands = commands
        self._timeout_s = timeout_s
        self._log = log
        self._number = 0
        self._begun_ms = self.started_ms
        self._status: int | None = None
        self._buffer = b""
        self._ours, theirs = socket.socketpair()
        try:
            self._family = self._spawn(theirs, env)
        except BaseException:
            self._ours.close()
            raise
        finally:
            theirs.close()

    def fileno(self) -> int:
        """Return the descriptor on which the shell reports its progress."""
        return self._ours.fileno()

    @property
    def command(self) -> str:
        """Return the command that runs now."""
        return self._commands[self._number]

    @property
    def has_flooded(self) -> bool:
        """Return True if the log has grown beyond its limit."""
        return os.fstat(self._log).st_size > LOG_BYTES

    def time_left_ms(self) -> int:
        """Return the time left for the present command; without a limit always a day."""
        if self._timeout_s == 0:
            return DAY_MS
        return max(0, self._begun_ms + self._timeout_s * 1000 - clock.monotonic_ms())

    def has_ended(self) -> bool:
        """Read the shell's reports; return True if the commands have ended."""
        return self._receive() or self._status is not None or _has_exited(self._family.leader)

    def _receive(self) -> bool:
        """Read the shell's reports; return True if the shell and its guard have ended."""
        poll = select.poll()
        poll.register(self._ours, select.POLLIN)
        while self._status is None and poll.poll(0):
            data = self._ours.recv(4096)
            self._buffer += data
            *lines, self._buffer = self._buffer.split(b"\n")
            for word, number in (line.split() for line in lines):
                if word == b"begins":
                    self._number, self._begun_ms = int(number), clock.monotonic_ms()
                else:
                    self._status = int(number)
            if not data:
                return True
        return False

    def end(self) -> RunResult:
        """Reap commands that have ended, and end the processes that they left behind."""
        whole = end_processes(self._family, cut_off=False)
        _, wait_status = os.waitpid(self._family.leader, 0)
        self._receive()  # its last report may have arrived since
        self._close(whole=whole)
        status = os.waitstatus_to_exitcode(wait_status) if self._status is None else self._status
        reason = "" if status == 0 else status_reason(self.command, status)
        if self._status is None and not reason:  # the shell itself has ended without a report
            reason = status_reason(self.command, 1)
        return RunResult(reason, clock.monotonic_ms() - self.started_ms)

    def kill(self) -> RunResult:
        """Stop the commands by force, because the time is over or the log is too long."""
        whole = end_processes(self._family, cut_off=True)
        if whole or _has_exited(self._family.leader):
            os.waitpid(self._family.leader, 0)
        self._close(whole=whole)
        if self.has_flooded:
            reason = flood_reason(self.command, LOG_BYTES)
        else:
            reason = timeout_reason(self.command, self._timeout_s)
        return RunResult(reason, clock.monotonic_ms() - self.started_ms)

    def _spawn(self, theirs: socket.socket, env: dict[str, str]) -> RunProcesses:
        """Start the shell behind a gate, which opens once its process is recorded."""
        shell = ["/bin/sh", "-c", COMMANDS, "sh", *self._commands]
        fds = (theirs.fileno(), self._log, self._log)
        pid, gate = proc.spawn_gated(shell, cwd=self.location.tree, env=env, fds=fds)
        try:
            family = RunProcesses(pid, find_start(pid), self.location.tree)
            self.location.record(family)
            os.write(gate, b"\n")
        except BaseException:
            os.close(gate)
            os.waitpid(pid, 0)
            raise
        os.close(gate)
        crash_point("verify-started")
        return family

    def _close(self, *, whole: bool) -> None:
        self._ours.close()
        if whole:  # otherwise the next user of the slot tries again
            self.location.forget()


class RunLog:
    """The log file of a run: our lines and the commands' output, in one order."""

    def __init__(self, root: str, *, tree: str, now_ms: int) -> None:
        stamp = clock.iso_utc_seconds(now_ms).replace("-", "").replace(":", "")
        try:
            os.makedirs(root, mode=0o700, exist_ok=True)
            self.path, self.descriptor = _create(f"{root}/{stamp}-{tree[:12]}")
        except OSError as error:
            raise _unwritten(root, error) from error

    def write(self, text: str) -> None:
        """Add text; raise Unavailable if the disk is full."""
        data = memoryview(text.encode("utf-8", "surrogateescape"))
        try:
            while data:
                data = data[os.write(self.descriptor, data) :]
        except OSError as error:
            raise _unwritten(self.path, error) from error

    def close(self, outcome: str, duration_ms: int, reason: str = "") -> None:
        """Write the last line and close the file; safe to repeat."""
        if self.descriptor >= 0:
            try:
                self.write(f"\n{verdict_text(outcome, duration_ms, reason)}\n")
            finally:
                os.close(self.descriptor)
                self.descriptor = -1


def require_space(*places: str) -> None:
    """Raise Unavailable if the disk of one of these files is full: no command is at fault."""
    for location in places:
        try:
            free = os.statvfs(location)
        except FileNotFoundError:  # a command has deleted its own working directory
            continue
        if free.f_bavail * free.f_frsize < SPARE_BYTES:
            raise Unavailable(
                f"the verify commands failed because the disk of {location} is full;"
                " no worker is at fault",
                "df -h",
                code="disk",
            )


def _create(stem: str) -> tuple[str, int]:
    number = 1
    while True:
        path = f"{stem}{f'-{number}' if number > 1 else ''}.log"
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
            return path, os.open(path, flags, 0o600)
        except FileExistsError:
            number += 1


def _unwritten(path: str, error: OSError) -> GitWorkerError:
    return Unavailable(
        f"cannot write the log {path}: {error.strerror}",
        "df -h",
        code="disk" if is_disk_full(error) else "unavailable",
    )


def _has_exited(pid: int) -> bool:
    """Return True if a child has ended, without reaping it: its number is not reused."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13: the socket reports it, or the timeout
        return False
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
