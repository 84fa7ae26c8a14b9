"""The only reader of the system's table of processes, /proc (proc(5)).

A pid is stored with its start time, since the system reuses pids. If the system cannot answer, the
result is None, which never counts as dead. It imports almost nothing, since an agent's start uses
it; psutil takes 23 ms to import, four times as long for a look at all processes, and knows neither
sessions nor start times that a change of the clock leaves alone.
"""

from __future__ import annotations

import os
import sys


class Process:
    """One living process; `start` is in the system's clock ticks, as text."""

    __slots__ = ("group", "parent", "pid", "session", "start")

    def __init__(self, pid: int, *, parent: int, group: int, session: int, start: str) -> None:
        self.pid = pid
        self.parent = parent
        self.group = group
        self.session = session
        self.start = start

    @property
    def arguments(self) -> tuple[str, ...] | None:
        """Return the command line; None if the process has ended or hides it."""
        try:
            with open(f"/proc/{self.pid}/cmdline", "rb") as file:
                return tuple(os.fsdecode(word) for word in file.read().split(b"\0")[:-1])
        except OSError:
            return None


def find_process(pid: int) -> Process | None:
    """Return a living process, or None if it does not exist or is a zombie."""
    fields = _stat(pid)
    if not fields or fields[0] in ("Z", "X"):
        return None
    parent, group, session = map(int, fields[1:4])
    return Process(pid, parent=parent, group=group, session=session, start=fields[19])


def all_processes() -> list[Process] | None:
    """Return the living processes; None if /proc does not exist or shows another namespace."""
    pids = None if find_pid_namespace() is None else all_pids()
    return None if pids is None else list(filter(None, map(find_process, pids)))


def all_pids() -> list[int] | None:
    """Return the pids that /proc shows, perhaps of another namespace; None without /proc."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return None


def is_running(pid: int, start: str | None) -> bool | None:
    """Return whether the process with that pid and start still runs; None without /proc.

    Only for pids of our own PID namespace (`origin.is_local`).
    """
    if not os.path.isdir("/proc/self"):
        return None
    process = find_process(pid)
    return process is not None and start in (None, process.start)


def find_start(pid: int) -> str | None:
    """Return the start time of a process, a zombie too; None if unknown."""
    fields = _stat(pid)
    return fields[19] if fields else None


def find_pid_namespace() -> str | None:
    """Return the id of our PID namespace; empty if the system has no namespaces.

    Returns None if /proc shows another namespace (`unshare --pid` without a mount of its own),
    because no pid can then be looked up.
    """
    try:
        is_own = os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return None if sys.platform == "linux" else ""
    if not is_own:
        return None
    try:
        return os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:  # a kernel without namespaces
        return ""


def working_directory(pid: int) -> str:
    """Return a path that leads to the working directory of a process, also in a container."""
    return f"/proc/{pid}/cwd"


def works_in(pid: int, root: str) -> bool:
    """Return whether a process has its working directory in `root`, an absolute real path."""
    try:
        place = os.readlink(working_directory(pid))
    except OSError:  # it has just ended, or belongs to another user
        return False
    return place == root or place.startswith(f"{root}/")


def has_variable(pid: int, text: str) -> bool:
    """Return whether a process started with `NAME=value` in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return os.fsencode(text) in file.read().split(b"\0")
    except OSError:
        return False


def has_open(pid: int, path: str) -> bool:
    """Return whether a process has the file open."""
    folder = f"/proc/{pid}/fd"
    try:
        return any(_is_same(f"{folder}/{name}", path) for name in os.listdir(folder))
    except OSError:
        return False


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; empty if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()  # the name before it may hold spaces
    except OSError:
        return []
    return fields if len(fields) > 19 else []
