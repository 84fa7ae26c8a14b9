"""The processes of a run: its session, and processes that left it but still carry its mark.

The commands run in their own session, with the worktree's path in their environment. A daemon that
left the session during a run that ended normally is left alone; if a run is aborted, it is ended
too, since it could not be cleaned up later. On a system without /proc only the process group is
known.
"""

import os
import signal
from typing import NamedTuple

from gitworker import clock
from gitworker.processes.table import (
    Process,
    all_processes,
    find_start,
    has_variable,
    works_in,
)
from gitworker.verify.rules_verify import TREE_VARIABLE

TERM_GRACE_S = 2.0
KILL_GRACE_S = 5.0
POLL_S = 0.02


class RunProcesses(NamedTuple):
    """The first process of a run, which leads the session, and the worktree it runs in.

    `start` is the start time of that process in the system's own clock; None if unknown.
    """

    leader: int
    start: str | None
    tree: str


def end_processes(family: RunProcesses, *, cut_off: bool) -> bool:
    """End the remaining processes of a run, first by SIGTERM; return True once all have ended.

    The leader must not have been reaped: its number could belong to another process by then. If the
    run is aborted (`cut_off`), its daemons end too.
    """
    for number, grace_s in ((signal.SIGTERM, TERM_GRACE_S), (signal.SIGKILL, KILL_GRACE_S)):
        deadline_ms = clock.monotonic_ms() + int(grace_s * 1000)
        signalled: set[int] = set()
        while True:
            alive = _living(family, cut_off=cut_off)
            if not alive:
                return True
            for pid in alive - signalled if number == signal.SIGTERM else alive:
                _signal(pid, number)
            signalled |= alive
            if clock.monotonic_ms() >= deadline_ms:
                break
            clock.sleep(POLL_S)
    return not _living(family, cut_off=cut_off)


def end_orphans(family: RunProcesses) -> bool:
    """End the processes that a killed queue left in a worktree; return True once all have ended."""
    if all_processes() is None:
        return True  # the number may have been reused; the guard in the run has ended the group
    if find_start(family.leader) != family.start:
        family = family._replace(leader=0)  # it has ended, and its number may have been reused
    return end_processes(family, cut_off=True)


def _signal(pid: int, number: int) -> None:
    try:
        if pid < 0:
            os.killpg(-pid, number)
        else:
            os.kill(pid, number)
            os.kill(pid, signal.SIGCONT)  # a stopped process handles only SIGKILL
    except (ProcessLookupError, PermissionError):  # ended, or it runs as another user now
        return


def _living(family: RunProcesses, *, cut_off: bool) -> set[int]:
    """Return the processes of a run; without /proc its group, as a negative number."""
    found = all_processes()
    if found is None:
        return _living_group(family.leader)
    own = os.getpid()
    return {one.pid for one in found if one.pid != own and _belongs(one, family, cut_off=cut_off)}


def _living_group(leader: int) -> set[int]:
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):
        return set()
    return {-leader}


def _belongs(process: Process, family: RunProcesses, *, cut_off: bool) -> bool:
    if family.leader and process.session == family.leader:
        return True
    if family.start is not None and int(process.start) < int(family.start):
        return False  # older than the run, as most are
    if not has_variable(process.pid, f"{TREE_VARIABLE}={family.tree}"):
        return False
    return cut_off or works_in(process.pid, family.tree)
