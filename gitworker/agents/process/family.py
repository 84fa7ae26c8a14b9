"""The processes of an agent: its session, what has left it, and whom its supervisor adopts.

Where the system has no /proc, the agent's own group is all that is known.
"""

from __future__ import annotations

import os
import signal

from gitworker.agents.rules import is_shared
from gitworker.proc import find_pid_namespace

PR_SET_CHILD_SUBREAPER = 36
LASTING = frozenset({signal.SIGSTOP, signal.SIGKILL})  # after these nobody can start another
ROUNDS = 8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    Processes = dict[int, "Process"]


class Process:
    """What the system says of one process; `start` is by its own clock."""

    __slots__ = ("group", "parent", "session", "start")

    def __init__(self, parent: int, group: int, session: int, start: int) -> None:
        self.parent = parent
        self.group = group
        self.session = session
        self.start = start


class Family:
    """The living processes of an agent, looked up anew whenever they are asked for.

    They are its session; whoever descends from a member by parents that live, and the session that
    such a one has made; and, where we are the foster parent (`adopts`), orphans at work in the
    agent's worktree. Never what everybody uses (`rules.is_shared`), nor what began before the agent
    did: a pid may have been given to somebody else.
    """

    def __init__(self, pid: int, start: str | None, *, worktree: str, adopts: bool) -> None:
        self._pid = pid
        self._start = int(start) if start else 0
        self._worktree = worktree
        self._adopts = adopts
        self._leaders = {pid: self._start}  # of our sessions, and when each of them began

    def groups(self, spare: Collection[int] = ()) -> set[int]:
        """Return the process groups that have a member; `spare` as in `send`."""
        return {process.group for process in self._members(spare).values()}

    def send(self, number: int, spare: Collection[int] = ()) -> None:
        """Send a signal to every member; one that stops or kills, to those that come meanwhile too.

        `spare` are processes that have orders of their own: outside the agent's session they and
        their descendants are left alone.
        """
        told: set[int] = set()
        for _ in range(ROUNDS if number in LASTING else 1):
            new = {p: one for p, one in self._members(spare).items() if p not in told}
            if not new:
                return
            told |= new.keys()
            self._send(number, new)

    def has(self, pid: int) -> bool:
        """Tell whether a process is a member."""
        return pid in self._members(())

    def _send(self, number: int, members: Processes) -> None:
        groups = {one.group for one in members.values() if one.session == self._pid}
        for group in groups:  # at once, so that none of them can start another in between
            try:
                os.killpg(group, number)
            except (ProcessLookupError, PermissionError):  # gone, or one that changed its user
                continue
        for pid, one in members.items():
            if one.session == self._pid:
                continue
            now = _find(str(pid))
            if now is not None and now.start == one.start:
                try:
                    os.kill(pid, number)
                except (ProcessLookupError, PermissionError):
                    continue

    def _members(self, spare: Collection[int]) -> Processes:
        seen = _processes()
        if seen is None:
            return _only(self._pid)
        younger = {pid: one for pid, one in seen.items() if one.start >= self._start}
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
            if pid in found or (one.session != self._pid and _is_spared(pid, spare)):
                continue
            found[pid] = one
            fresh += children.get(pid, [])
            if one.session == pid and pid not in self._leaders:
                self._leaders[pid] = one.start
                fresh += [other for other, each in younger.items() if each.session == pid]
        return found

    def _is_inside(self, one: Process, seen: Processes) -> bool:
        """Tell whether a process is in a session of ours, and no later one of the same number."""
        if one.session not in self._leaders:
            return False
        leader = seen.get(one.session)
        return leader is None or leader.start == self._leaders[one.session] or not self._start

    def _adopted(self, younger: Processes) -> Iterator[int]:
        """Yield the orphans that came to us and work in the worktree; none that we started."""
        us, session = os.getpid(), os.getsid(0)
        root = os.path.realpath(self._worktree)
        for pid, one in younger.items():
            if one.parent == us and one.session != session and _works_in(pid, root):
                yield pid


def adopt_orphans(*, adopting: bool = True) -> bool:
    """Become the parent of descendants whose parent dies (prctl(2)); tell whether that works."""
    try:
        import ctypes  # 3 ms, while the agent's shell starts

        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(adopting), 0, 0, 0) == 0)
    except (AttributeError, OSError):  # no Linux
        return False


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


def _only(pid: int) -> Processes:
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return {}
    return {pid: Process(0, pid, pid, 0)}


def _is_spared(pid: int, spare: Collection[int]) -> bool:
    if pid in spare or pid == os.getpid():
        return True
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")[:-1]
    except OSError:
        return True
    return is_shared([os.fsdecode(word) for word in words])


def _works_in(pid: int, root: str) -> bool:
    try:
        place = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return False
    return place == root or place.startswith(root + "/")


def _processes() -> Processes | None:
    """Return every process that lives, zombies aside; None if /proc does not show our pids."""
    if find_pid_namespace() is None:
        return None
    try:
        names = os.listdir("/proc")
    except OSError:
        return None
    found = {}
    for name in names:
        one = _find(name) if name.isdigit() else None
        if one is not None:
            found[int(name)] = one
    return found


def _find(name: str) -> Process | None:
    """Return a process as proc(5) tells it; None for none, and for a zombie."""
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()  # the name before it may hold spaces
    except OSError:
        return None
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    return Process(int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))
