"""The process that calls us as an agent, and the processes that occupy a directory."""

import os

from gitworker.clock import monotonic_ms, sleep
from gitworker.processes.table import (
    Process,
    all_pids,
    find_pid_namespace,
    find_process,
    working_directory,
    works_in,
)

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox"})
VALUED_SHELL_OPTIONS = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})
PASSED_BY = frozenset({"git", "env", "timeout", "git-worker", "nice", "setsid", "stdbuf", "xargs"})

# git starts these in the background after a commit; from 2.54 on after thirty commits.
UPKEEP = frozenset({"maintenance", "gc"})
UPKEEP_WAIT_MS = 3000  # in a large repository maintenance takes longer
UPKEEP_POLL_S = 0.02
# Linux gives its first PID namespace this number (PROC_PID_INIT_INO): process 1 is the machine's.
FIRST_PID_NAMESPACE = "4026531836"
DEPTH_MAX = 64  # directories above a working directory that are compared


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


def calls_us(pid: int, start: str | None) -> bool:
    """Return whether this process is the process with that pid and start, or below it."""
    found = find_process(os.getpid())
    while found is not None:
        if (found.pid, start or found.start) == (pid, found.start):
            return True
        found = find_process(found.parent)
    return False


def runs_us_in_a_container(pid: int) -> bool:
    """Return whether a process is our ancestor in a PID namespace that is not the machine's first.

    Process 1 may be an agent then; otherwise it is the machine's init, or a container's that starts
    commands for others. An ancestor outside the namespace is not seen.
    """
    in_container = find_pid_namespace() not in (None, "", FIRST_PID_NAMESPACE)
    return in_container and calls_us(pid, None)


def processes_in(directory: str) -> list[int]:
    """Return the pids of the user's processes whose working directory is inside `directory`.

    This includes processes that see it under another path: in a container or a bind mount.
    """
    root = os.path.realpath(directory)
    try:
        wanted = os.stat(root)
    except OSError:
        return []
    return [pid for pid in all_pids() or () if works_in(pid, root) or _lies_in(pid, wanted)]


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


def _lies_in(pid: int, wanted: os.stat_result) -> bool:
    """Return whether a process works in the wanted directory, by device and inode."""
    path = working_directory(pid)
    try:
        found = os.stat(path)
        for _ in range(DEPTH_MAX):
            if os.path.samestat(found, wanted):
                return True
            path += "/.."
            above = os.stat(path)
            if found.st_dev != wanted.st_dev or os.path.samestat(found, above):
                return False
            found = above
    except OSError:  # it has just ended, or belongs to another user
        pass
    return False


def _is_upkeep(pid: int) -> bool:
    """Return whether a process is `git maintenance` or `git gc`, or has ended."""
    process = find_process(pid)
    arguments = process and process.arguments
    if not arguments:
        return True
    name, *words = arguments
    return os.path.basename(name) == "git" and not UPKEEP.isdisjoint(words)


def _passes_by(arguments: tuple[str, ...] | None) -> bool:
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
