"""Processes of this machine: their start times, whether they run, and those in a directory.

A pid is stored with its start time, since the system reuses pids. If the system cannot answer (no
/proc), the result is None, which never counts as dead.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from gitworker.clock import monotonic_ms, sleep
from gitworker.proc import find_pid_namespace

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox"})
VALUED_SHELL_OPTIONS = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
PASSED_BY = frozenset({"git", "env", "timeout", "git-worker", "nice", "setsid", "stdbuf", "xargs"})

# git starts these in the background after a commit; from 2.54 on after thirty commits.
UPKEEP = frozenset({"maintenance", "gc"})
UPKEEP_WAIT_MS = 3000  # in a large repository maintenance takes longer
UPKEEP_POLL_S = 0.02
DEPTH_MAX = 64  # directories above a working directory that are compared


class Process(NamedTuple):
    """One process: its id, its start time (the system's clock ticks, as text), its arguments."""

    pid: int
    start: str
    parent: int
    arguments: tuple[str, ...]


def find_process(pid: int) -> Process | None:
    """Return a running process, or None if it does not exist or is a zombie."""
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
    """Return whether the process with that pid and start still runs; None without /proc.

    Only for pids of our own PID namespace (`origin.is_local`).
    """
    if not os.path.isdir("/proc/self"):
        return None
    process = find_process(pid)
    if process is None:
        return False
    return start is None or process.start == start


def find_calling_agent() -> Process | None:
    """Return the nearest ancestor that is not git, env, timeout or a shell running a command.

    An interactive shell counts as an agent. Returns None also if /proc shows another PID namespace,
    in which our parents' pids identify other processes.
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
    """Return the pids of the user's processes whose working directory is inside `directory`.

    This includes processes that see it under another path: in a container or a bind mount.
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


def occupants_of(directory: str, *, wait_ms: int = UPKEEP_WAIT_MS) -> list[int]:
    """Return `processes_in` after `git maintenance` has ended there; wait `wait_ms` at most.

    git starts it in the directory of a commit to pack objects.
    """
    deadline_ms = monotonic_ms() + wait_ms
    pids = processes_in(directory)
    while any(map(_is_upkeep, pids)) and monotonic_ms() < deadline_ms:
        sleep(UPKEEP_POLL_S)
        pids = processes_in(directory)
    return pids


def _lies_in(path: str, wanted: os.stat_result) -> bool:
    """Return whether a path is the wanted directory, or inside it, by device and inode."""
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
    """Return whether a process is `git maintenance` or `git gc`, or has ended."""
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
    """Return whether a shell with these arguments runs a command or a script, and then ends."""
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
