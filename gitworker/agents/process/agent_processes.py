"""The processes of an agent: its session, its descendants, and orphans that its supervisor adopts.

On a system without /proc only the agent's own process group is known.
"""

from __future__ import annotations

import os
import signal

from gitworker.agents.rules_run import is_shared
from gitworker.processes.table import Process, all_processes, find_start, works_in

PR_SET_CHILD_SUBREAPER = 36
LASTING = frozenset({signal.SIGSTOP, signal.SIGKILL})  # after these a process starts no other
ROUNDS = 8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    Processes = dict[int, Process]


class AgentProcesses:
    """The living processes of an agent, read from the system at each call.

    They are its session; the descendants of a member through living parents, and the sessions that
    these have made; and, if we are the subreaper (`adopts`), orphans that work in the agent's
    worktree. Excluded are shared processes (`rules.is_shared`) and processes older than the agent,
    since a pid may have been reused.
    """

    def __init__(self, pid: int, start: str | None, *, worktree: str, adopts: bool) -> None:
        self._pid = pid
        self._start = int(start) if start else 0
        self._worktree = worktree
        self._adopts = adopts
        self._leaders = {pid: self._start}  # leaders of our sessions, and when each began

    def groups(self, excluded: Collection[int] = ()) -> set[int]:
        """Return the process groups that have a member; `spare` as in `send`."""
        return {process.group for process in self._members(excluded).values()}

    def send(self, number: int, excluded: Collection[int] = ()) -> None:
        """Send a signal to every member; if it stops or kills, also to members started meanwhile.

        `excluded` are processes that get their own orders: outside the agent's session they and
        their descendants are left alone.
        """
        signalled: set[int] = set()
        for _ in range(ROUNDS if number in LASTING else 1):
            new = {p: one for p, one in self._members(excluded).items() if p not in signalled}
            if not new:
                return
            signalled |= new.keys()
            self._send(number, new)

    def has(self, pid: int) -> bool:
        """Return True if a process is a member."""
        return pid in self._members(())

    def _send(self, number: int, members: Processes) -> None:
        groups = {one.group for one in members.values() if one.session == self._pid}
        for group in groups:  # at once, so that none of them can start another in between
            try:
                os.killpg(group, number)
            except (ProcessLookupError, PermissionError):  # ended, or runs as another user now
                continue
        for pid, one in members.items():
            if one.session == self._pid:
                continue
            if find_start(pid) == one.start:
                try:
                    os.kill(pid, number)
                except (ProcessLookupError, PermissionError):
                    continue

    def _members(self, excluded: Collection[int]) -> Processes:
        every = all_processes()
        if every is None:
            return _only(self._pid)
        seen = {one.pid: one for one in every}
        younger = {one.pid: one for one in every if int(one.start) >= self._start}
        found: Processes = {}
        fresh = [pid for pid, one in younger.items() if self._is_inside(one, seen)]
        if self._adopts:
            fresh += self._adopted(younger)
        children: dict[int, list[int]] = {}
        for pid, one in younger.items():
            children.setdefault(one.parent, []).append(pid)
        while fresh:
            pid = fresh.pop()
            one = younger[pid]
            if pid in found or (one.session != self._pid and _is_excluded(one, excluded)):
                continue
            found[pid] = one
            fresh += children.get(pid, [])
            if one.session == pid and pid not in self._leaders:
                self._leaders[pid] = int(one.start)
                fresh += [other for other, each in younger.items() if each.session == pid]
        return found

    def _is_inside(self, one: Process, seen: Processes) -> bool:
        """Return True if a process is in one of our sessions, not a later one of that number."""
        if one.session not in self._leaders:
            return False
        leader = seen.get(one.session)
        return leader is None or int(leader.start) == self._leaders[one.session] or not self._start

    def _adopted(self, younger: Processes) -> Iterator[int]:
        """Yield the adopted orphans that work in the worktree, without our own children."""
        us, session = os.getpid(), os.getsid(0)
        root = os.path.realpath(self._worktree)
        for pid, one in younger.items():
            if one.parent == us and one.session != session and works_in(pid, root):
                yield pid


def adopt_orphans(*, adopting: bool = True) -> bool:
    """Become the parent of orphaned descendants (prctl(2)); return True if that works."""
    try:
        import ctypes  # 3 ms, while the agent's shell starts

        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(adopting), 0, 0, 0) == 0)
    except (AttributeError, OSError):  # not Linux
        return False


def reap() -> dict[int, int]:
    """Reap exited children; return their codes (negative: the signal) by pid."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = os.waitstatus_to_exitcode(status)


def _only(pid: int) -> Processes:
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return {}
    return {pid: Process(pid, parent=0, group=pid, session=pid, start="0")}


def _is_excluded(process: Process, excluded: Collection[int]) -> bool:
    if process.pid in excluded or process.pid == os.getpid():
        return True
    words = process.arguments
    return words is None or is_shared(list(words))
