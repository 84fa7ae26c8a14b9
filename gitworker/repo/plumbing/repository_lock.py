"""The only user of filelock: locks that span processes and git (spawn, landing).

A free lock is taken by flock(2) on the same file, as filelock does it, but without importing
filelock (25 ms). Only a command that has to wait uses filelock.

The kernel releases such a lock when its holder dies; no pid is ever guessed to be dead. A git
process can inherit the lock (`descriptor_of`), so that a repair never overtakes work that it still
does.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gitworker.clock import monotonic_ms, sleep
from gitworker.errors import Conflict
from gitworker.paths import open_regular
from gitworker.processes.table import find_start, has_open
from gitworker.repo.plumbing.git_environment import HELD, HELD_ENV

POLL_S = 0.02


@contextmanager
def hold(path: str, *, name: str, timeout_s: float = 120) -> Iterator[None]:
    """Hold the lock file `path` for a while; raise Conflict if it stays taken for `timeout_s`."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    deadline_ms = monotonic_ms() + int(timeout_s * 1000)
    release = _take_free(path)
    if release is None:
        _refuse_nested(path, name)
        release = _wait_for(path, name=name, timeout_s=timeout_s)
    try:
        HELD[path] = hold_descriptor(
            f"{path}.child",
            deadline_ms=deadline_ms,
            complaint=f"a git process of a killed command still holds the {name} lock",
        )
        try:
            yield
        finally:
            os.close(HELD.pop(path))  # closed, not unlocked: a child that inherited it may live on
    finally:
        release()


def _refuse_nested(path: str, name: str) -> None:
    """Raise Conflict in a hook of a command that holds this lock: that command waits for us."""
    holder, *paths = os.environ.get(HELD_ENV, "").split("\n")
    pid, _, start = holder.partition(" ")
    if (
        os.path.realpath(path) in paths
        and pid.isdigit()
        and find_start(int(pid)) == start
        and has_open(int(pid), path)  # it has not released the lock since
    ):
        raise Conflict(
            f"a git worker command holds the {name} lock and waits for the git hook that runs this"
            " command",
            "git worker status   # run this command again when the first one has ended",
            code="nested",
        )


def _take_free(path: str) -> Callable[[], None] | None:
    """Lock the file as filelock does; return None if it is taken or cannot be locked this way."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:  # otherwise the locked file was deleted meanwhile
            return lambda: os.close(descriptor)
    except OSError:
        pass
    os.close(descriptor)
    return None


def _wait_for(path: str, *, name: str, timeout_s: float) -> Callable[[], None]:
    from filelock import FileLock, Timeout  # 27 ms, only if there is a wait

    lock = FileLock(path, timeout=timeout_s)
    try:
        lock.acquire(poll_interval=POLL_S)
    except Timeout:
        raise Conflict(
            f"another command has held the {name} lock for {timeout_s:g} s",
            "git worker status",
            code="locked",
        ) from None
    return lock.release


def is_held(path: str) -> bool:
    """Return whether any process holds a lock file now; concurrent checks do not disturb others.

    It needs no right to write. A file that cannot be read, as one that does not exist, is free.
    """
    try:
        descriptor = open_regular(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


def descriptor_of(path: str) -> int | None:
    """Return the descriptor of a lock that this process holds; a child with it holds the lock."""
    return HELD.get(path)


def hold_descriptor(path: str, *, deadline_ms: int, complaint: str) -> int:
    """Lock the file `path` and return its descriptor; every process with the descriptor holds it.

    Raises Conflict with the complaint if the lock is still taken at `deadline_ms` (monotonic).
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except BlockingIOError:
                if monotonic_ms() >= deadline_ms:
                    raise Conflict(complaint, "git worker status", code="locked") from None
                sleep(POLL_S)
    except BaseException:
        os.close(descriptor)
        raise
