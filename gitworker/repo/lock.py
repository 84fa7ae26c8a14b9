"""The one door to filelock: locks that span processes and git (spawn, landing).

The kernel releases such a lock when its holder dies; no pid is ever guessed dead.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from gitworker.errors import Conflict


@contextmanager
def hold(path: str, *, what: str, timeout_s: float = 120) -> Iterator[None]:
    """Hold the lock file `path` for a while; raise Conflict when it stays taken for `timeout_s`."""
    from filelock import FileLock, Timeout  # 27 ms (GIT-FACTS), only for commands that act on git

    os.makedirs(os.path.dirname(path), exist_ok=True)
    lock = FileLock(path, timeout=timeout_s)
    try:
        lock.acquire(poll_interval=0.02)
    except Timeout:
        raise Conflict(
            f"another command has held the {what} lock for {timeout_s:g} s",
            "git worker status",
            code="locked",
        ) from None
    try:
        yield
    finally:
        lock.release()
