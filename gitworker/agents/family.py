"""The processes of an agent: its session with every process group in it, and its orphans.

Where the system has no /proc, the agent's own group is all that is known.
"""

from __future__ import annotations

import os

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans(*, adopting: bool = True) -> bool:
    """Become the parent of descendants whose parent dies (prctl(2)); tell whether that works."""
    try:
        import ctypes  # 3 ms, while the agent's shell starts

        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(adopting), 0, 0, 0) == 0)
    except (AttributeError, OSError):  # no Linux
        return False


def groups_of(session: int) -> set[int]:
    """Return the process groups of a session that have a living member."""
    groups = set()
    try:
        names = os.listdir("/proc")
    except OSError:
        return {session}
    for name in names:
        if name.isdigit():
            fields = _fields(name)
            if fields and int(fields[3]) == session and fields[0] not in ("Z", "X"):
                groups.add(int(fields[2]))
    return groups


def signal_all(session: int, number: int) -> None:
    """Send a signal to every process group of a session."""
    for group in groups_of(session):
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):  # gone, or a program that changed its user
            continue


def reap() -> dict[int, int]:
    """Take leave of our ended children; return their codes (negative: the signal) by pid."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = os.waitstatus_to_exitcode(status)


def _fields(name: str) -> list[str]:
    """Return state, parent, group, session… of a process (proc(5)); nothing for none."""
    try:
        with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []
