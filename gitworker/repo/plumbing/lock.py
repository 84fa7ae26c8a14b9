"""The one door to filelock: locks that span processes and git (spawn, landing).

A lock that is free is taken as filelock takes it, by flock(2) on the same file, without loading
filelock, which is 25 ms. Who has to wait waits with filelock.

The kernel releases such a lock when its holder dies; no pid is ever guessed dead. A git that must
not be overtaken by the repair of its own work can hold the lock as well (`descriptor_of`).
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from gitworker.clock import monotonic_ms, sleep
from gitworker.errors import Conflict
from gitworker.proc import find_start
from gitworker.repo.plumbing.git_environment import HELD_ENV

POLL_S = 0.02
_held: dict[str, int] = {}


@contextmanager
def hold(path: str, *, what: str, timeout_s: float = 120) -> Iterator[None]:
    """Hold the lock file `path` for a while; raise Conflict when it stays taken for `timeout_s`."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    deadline_ms = monotonic_ms() + int(timeout_s * 1000)
    release = _take_free(path)
    if release is None:
        _refuse_nested(path, what)
        release = _wait_for(path, what=what, timeout_s=timeout_s)
    try:
        _held[path] = hold_descriptor(
            f"{path}.child",
            deadline_ms=deadline_ms,
            complaint=f"a git that a killed command had started still works under the {what} lock",
        )
        try:
            yield
        finally:
            os.close(_held.pop(path))  # never unlocked: a child that has it may live on
    finally:
        release()


def held_environment() -> dict[str, str]:
    """Return the variable that shows our children which locks we hold; nothing if we hold none."""
    paths = tuple(_held)  # at once: other threads take and release locks meanwhile
    if not paths:
        return {}
    pid = os.getpid()
    return {HELD_ENV: "\n".join((f"{pid} {find_start(pid)}", *map(os.path.realpath, paths)))}


def _refuse_nested(path: str, what: str) -> None:
    """Raise Conflict if we run in a hook of a command that holds this lock: it waits for us."""
    holder, *paths = os.environ.get(HELD_ENV, "").split("\n")
    pid, _, start = holder.partition(" ")
    if (
        os.path.realpath(path) in paths
        and pid.isdigit()
        and find_start(int(pid)) == start
        and _has_open(int(pid), path)
    ):
        raise Conflict(
            f"a git worker command holds the {what} lock and waits for the git hook that runs this"
            " command",
            "git worker status   (start it again when the first command has ended)",
            code="nested",
        )


def _has_open(pid: int, path: str) -> bool:
    """Return whether a process has the file open: false if it has released the lock since."""
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                if os.path.samefile(f"/proc/{pid}/fd/{name}", path):
                    return True
    return False


def _take_free(path: str) -> Callable[[], None] | None:
    """Lock the file as filelock does; None where somebody has it, or it cannot be locked so."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_nlink:  # else the lock of a file that has no name any more
            return lambda: os.close(descriptor)
    except OSError:
        pass
    os.close(descriptor)
    return None


def _wait_for(path: str, *, what: str, timeout_s: float) -> Callable[[], None]:
    from filelock import FileLock, Timeout  # 27 ms (GIT-FACTS), only where there is a wait

    lock = FileLock(path, timeout=timeout_s)
    try:
        lock.acquire(poll_interval=POLL_S)
    except Timeout:
        raise Conflict(
            f"another command has held the {what} lock for {timeout_s:g} s",
            "git worker status",
            code="locked",
        ) from None
    return lock.release


def is_held(path: str) -> bool:
    """Tell whether anybody holds a lock file now, this process included."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


def descriptor_of(path: str) -> int | None:
    """Return the descriptor of a lock that this process holds: who inherits it holds it as well."""
    return _held.get(path)


def hold_descriptor(path: str, *, deadline_ms: int, complaint: str) -> int:
    """Lock the file `path` and return its descriptor: who has it holds the lock.

    Raises Conflict with the complaint where it stays taken until then (CLOCK_MONOTONIC).
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
