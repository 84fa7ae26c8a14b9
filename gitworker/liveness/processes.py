"""Processes of this machine: when one started, whether it still runs, what runs in a directory.

A pid is kept with its start time, since the system gives pids to new processes. Where the system
cannot tell (no /proc), the answer is None, which is never taken for dead.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from gitworker.clock import monotonic_ms, sleep
from gitworker.proc import find_pid_namespace

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox"})
VALUED_SHELL_OPTIONS = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
PASSED_BY = frozenset({"git", "env", "timeout", "git-worker", "nice", "setsid", "stdbuf", "xargs"})

# What git does by itself in the background after a commit: from 2.54 on after thirty of them.
UPKEEP = frozenset({"maintenance", "gc"})
UPKEEP_WAIT_MS = 3000  # in a large repository it takes longer
UPKEEP_LOOK_S = 0.02
DEPTH_MAX = 64  # directories above a working directory that are compared


class Process(NamedTuple):
    """One process: its id, when it started (the system's own clock, as text), its arguments."""

    pid: int
    start: str
    parent: int
    arguments: tuple[str, ...]


def find_process(pid: int) -> Process | None:
    """Return a running process, or None where there is none (or it is only a zombie)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
        with open(f"/proc/{pid}/cmdline", "rb") as raw:
            arguments = raw.read().split(b"\0")[:-1]
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # the name before it may hold spaces
    if fields[0] in ("Z", "X"):
        return None
    return Process(pid, fields[19], int(fields[1]), tuple(os.fsdecode(a) for a in arguments))


def is_running(pid: int, start: str | None) -> bool | None:
    """Tell whether the process with that pid and start still runs; None if /proc does not show.

    For pids of our own PID namespace only (`origin.is_local`).
    """
    if not os.path.isdir("/proc/self"):
        return None
    process = find_process(pid)
    if process is None:
        return False
    return start is None or process.start == start


def nearest_agent() -> Process | None:
    """Return the nearest ancestor that works here: no git, env, timeout or passing shell.

    A shell that runs a command or a script passes; an interactive one is somebody working. None
    also if /proc shows another PID namespace: our parents' pids mean other processes there.
    """
    if find_pid_namespace() is None:
        return None
    own = find_process(os.getppid())
    while own is not None and own.pid > 1:
        if not _passes_by(own.arguments):
            return own
        own = find_process(own.parent)
    return None


def processes_in(directory: str) -> list[int]:
    """Return the pids of the user's processes whose working directory lies in `directory`.

    Also of those that see it by another path: a container, a bind mount.
    """
    inside = []
    root = os.path.realpath(directory)
    try:
        wanted = os.stat(root)
    except OSError:
        return []
    for pid in _pids():
        cwd = f"/proc/{pid}/cwd"
        try:
            place = os.readlink(cwd)
            if place == root or place.startswith(root + "/") or _lies_in(cwd, wanted):
                inside.append(pid)
        except OSError:
            continue
    return inside


def lasting_processes_in(directory: str, *, wait_ms: int = UPKEEP_WAIT_MS) -> list[int]:
    """Return what `processes_in` does, once git has ended what it began there by itself.

    It packs objects in the directory of a commit. That is waited for, `wait_ms` at most.
    """
    deadline_ms = monotonic_ms() + wait_ms
    pids = processes_in(directory)
    while any(map(_is_upkeep, pids)) and monotonic_ms() < deadline_ms:
        sleep(UPKEEP_LOOK_S)
        pids = processes_in(directory)
    return pids


def _lies_in(path: str, wanted: os.stat_result) -> bool:
    """Tell whether a directory is one, or lies in one, that has another path for us."""
    found = os.stat(path)
    for _ in range(DEPTH_MAX):
        if os.path.samestat(found, wanted):
            return True
        path += "/.."
        above = os.stat(path)
        if found.st_dev != wanted.st_dev or os.path.samestat(found, above):
            return False
        found = above
    return False


def _is_upkeep(pid: int) -> bool:
    """Tell whether a process is git's upkeep, or has ended meanwhile."""
    process = find_process(pid)
    if process is None or not process.arguments:
        return True
    name, *words = process.arguments
    return os.path.basename(name) == "git" and not UPKEEP.isdisjoint(words)


def _passes_by(arguments: tuple[str, ...]) -> bool:
    if not arguments:
        return True
    name = os.path.basename(arguments[0]).lstrip("-")
    if name in PASSED_BY or name.startswith("git-"):
        return True
    if name.startswith("python") and any(a.endswith("/git-worker") for a in arguments[1:3]):
        return True
    return name in SHELLS and _runs_a_command(list(arguments[1:]))


def _runs_a_command(arguments: list[str]) -> bool:
    """Tell whether a shell with these arguments runs a command or a script, and then ends."""
    while arguments and arguments[0][:1] in ("-", "+"):
        option = arguments.pop(0)
        if option in VALUED_SHELL_OPTIONS:
            arguments[:1] = []
        elif "i" in option and not option.startswith("--"):
            return False
    return bool(arguments)  # after the options: the text of -c, or a script and its arguments


def _pids() -> Iterator[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if name.isdigit():
            yield int(name)
