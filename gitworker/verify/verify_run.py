"""One run of commands in a worktree: a shell of its own session, its log, its end.

The shell tells us over a socket which command it begins and with which status the last one ended.
A guard beside it reads the same socket: when we die, it ends the whole group.
"""

import os
import select
import socket
from typing import NamedTuple, Protocol

from gitworker import clock, proc
from gitworker.crashpoint import crash_point
from gitworker.errors import GitWorkerError, Unavailable, is_disk_full
from gitworker.verify.rules_verify import (
    flood_reason,
    status_reason,
    timeout_reason,
    verdict_text,
)
from gitworker.verify.verify_family import Family, end_family

# Descriptor 3 is the socket; no command has it. The guard goes before the end is told, since what
# then still runs in the group is taken for something that the commands have left behind.
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
LOG_BYTES = 1024 * 1024 * 1024  # of a program that has run wild
SPARE_BYTES = 1024 * 1024  # less free space than that after a failure: the disk is to blame


class Ended(NamedTuple):
    """How a run ended: why it failed (empty: it passed) and how long it took."""

    reason: str
    duration_ms: int


class Place(Protocol):
    """Where commands run: a slot of verify, or a new worktree that is set up."""

    @property
    def tree(self) -> str:
        """Return the worktree."""
        ...

    def record(self, family: Family) -> None:
        """Write down which process is about to run here."""
        ...

    def forget(self) -> None:
        """Take that back: nothing runs here any more."""
        ...


class Run:
    """The commands at work in a place, prepared before; `end` or `kill` is how it stops."""

    def __init__(
        self,
        place: Place,
        log: int,
        *,
        commands: tuple[str, ...],
        env: dict[str, str],
        timeout_s: int,
    ) -> None:
        self.place = place
        self.started_ms = clock.monotonic_ms()
        self._commands = commands
        self._timeout_s = timeout_s
        self._log = log
        self._number = 0
        self._begun_ms = self.started_ms
        self._status: int | None = None
        self._told = b""
        self._ours, theirs = socket.socketpair()
        try:
            self._family = self._spawn(theirs, env)
        except BaseException:
            self._ours.close()
            raise
        finally:
            theirs.close()

    def fileno(self) -> int:
        """Return the descriptor on which the shell tells how far it is."""
        return self._ours.fileno()

    @property
    def command(self) -> str:
        """Return the command that runs now."""
        return self._commands[self._number]

    @property
    def is_too_loud(self) -> bool:
        """Tell whether the log has grown beyond what anybody reads, and fills the disk."""
        return os.fstat(self._log).st_size > LOG_BYTES

    def time_left_ms(self) -> int:
        """Return how long the present command may go on; without a limit a day, again and again."""
        if self._timeout_s == 0:
            return DAY_MS
        return max(0, self._begun_ms + self._timeout_s * 1000 - clock.monotonic_ms())

    def has_ended(self) -> bool:
        """Hear what the shell has told, and tell whether the commands have come to an end."""
        return self._hear() or self._status is not None or _has_exited(self._family.leader)

    def _hear(self) -> bool:
        """Hear what the shell has told by now; tell whether it and its guard have gone."""
        poll = select.poll()
        poll.register(self._ours, select.POLLIN)
        while self._status is None and poll.poll(0):
            heard = self._ours.recv(4096)
            self._told += heard
            *lines, self._told = self._told.split(b"\n")
            for word, number in (line.split() for line in lines):
                if word == b"begins":
                    self._number, self._begun_ms = int(number), clock.monotonic_ms()
                else:
                    self._status = int(number)
            if not heard:
                return True
        return False

    def end(self) -> Ended:
        """Take leave of commands that have ended; what they have left behind ends too."""
        whole = end_family(self._family, cut_off=False)
        _, wait_status = os.waitpid(self._family.leader, 0)
        self._hear()  # its last word, where it has told that and gone since we heard it
        self._close(whole=whole)
        status = os.waitstatus_to_exitcode(wait_status) if self._status is None else self._status
        reason = "" if status == 0 else status_reason(self.command, status)
        if self._status is None and not reason:  # the shell itself has gone without a word
            reason = status_reason(self.command, 1)
        return Ended(reason, clock.monotonic_ms() - self.started_ms)

    def kill(self) -> Ended:
        """Stop the commands, whatever they do, as when the time is over or the log too long."""
        whole = end_family(self._family, cut_off=True)
        if whole or _has_exited(self._family.leader):
            os.waitpid(self._family.leader, 0)
        self._close(whole=whole)
        if self.is_too_loud:
            reason = flood_reason(self.command, LOG_BYTES)
        else:
            reason = timeout_reason(self.command, self._timeout_s)
        return Ended(reason, clock.monotonic_ms() - self.started_ms)

    def _spawn(self, theirs: socket.socket, env: dict[str, str]) -> Family:
        """Start the shell behind a gate, which opens once it is known who it is."""
        shell = ["/bin/sh", "-c", COMMANDS, "sh", *self._commands]
        fds = (theirs.fileno(), self._log, self._log)
        pid, gate = proc.spawn_gated(shell, cwd=self.place.tree, env=env, fds=fds)
        try:
            family = Family(pid, proc.find_start(pid), self.place.tree)
            self.place.record(family)
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
        if whole:  # else whoever takes the slot next tries again
            self.place.forget()


class RunLog:
    """The log file of a run: what is told here and what the commands write, in one order."""

    def __init__(self, root: str, *, tree: str, now_ms: int) -> None:
        stamp = clock.iso_utc_seconds(now_ms).replace("-", "").replace(":", "")
        try:
            os.makedirs(root, mode=0o700, exist_ok=True)
            self.path, self.descriptor = _create(f"{root}/{stamp}-{tree[:12]}")
        except OSError as error:
            raise _unwritten(root, error) from error

    def write(self, text: str) -> None:
        """Add text; raise Unavailable where the disk is full."""
        data = memoryview(text.encode("utf-8", "surrogateescape"))
        try:
            while data:
                data = data[os.write(self.descriptor, data) :]
        except OSError as error:
            raise _unwritten(self.path, error) from error

    def close(self, what: str, duration_ms: int, reason: str = "") -> None:
        """Write the last line and close the file; safe to repeat."""
        if self.descriptor >= 0:
            try:
                self.write(f"\n{verdict_text(what, duration_ms, reason)}\n")
            finally:
                os.close(self.descriptor)
                self.descriptor = -1


def require_space(*places: str) -> None:
    """Raise Unavailable where the disk of one of these files is full: no command is to blame."""
    for place in places:
        try:
            free = os.statvfs(place)
        except FileNotFoundError:  # a command has deleted where it stood: that is its own doing
            continue
        if free.f_bavail * free.f_frsize < SPARE_BYTES:
            raise Unavailable(
                f"the disk of {place} is full: the verify commands failed, and nobody is to blame",
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
    """Tell whether a child has ended, without taking leave of it: its number stays its own."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13: the socket tells, or the time limit
        return False
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
