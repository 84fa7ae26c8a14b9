"""Whether the link of a machine runs; for hot verbs, which pay for every import."""

from __future__ import annotations

import fcntl
import os


def start_link(root: str) -> None:
    """Start the link of a state directory unless one holds its lock."""
    if _is_held(f"{root}/locks/link"):
        return
    from gitworker.processes.jobs import start_job  # only if no link runs

    start_job("link", root)


def _is_held(path: str) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:  # no link has run yet
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
