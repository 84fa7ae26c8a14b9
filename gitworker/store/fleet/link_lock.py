"""The lock of a machine's link; for hot verbs, which pay for every import.

A link takes it before it loads PostgreSQL's driver, so that the commands that wait for it start no
others beside it, and start one at once in the place of a link that was killed.
"""

from __future__ import annotations

import fcntl
import os

from gitworker import clock

TRIES, TRY_EVERY_S = 10, 0.02


def start_link(root: str) -> None:
    """Start the link of a state directory unless one holds its lock."""
    if is_held(root):
        return
    from gitworker.processes.jobs import start_job  # only if no link runs

    start_job("link", root)


def is_held(root: str) -> bool:
    """Return whether a link of a state directory runs, starts or ends."""
    try:
        descriptor = os.open(_path(root), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:  # no link has run yet
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


def take_lock(root: str) -> int:
    """Take the lock and return its descriptor; -1 if another link has it.

    A command that looks whether a link runs holds it for a moment.
    """
    lock = os.open(_path(root), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    for _ in range(TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            clock.sleep(TRY_EVERY_S)
        else:
            return lock
    os.close(lock)
    return -1


def _path(root: str) -> str:
    return f"{root}/locks/link"
