"""Ringing up the beater; apart from it, since most commands only look whether it runs."""

import fcntl
import os
import sys

from gitworker import proc
from gitworker.paths import StatePaths

LOCK_NAME = "beater"


def ensure_beater(paths: StatePaths, *, every_s: int) -> None:
    """Start the beater unless one runs; two at once settle it by the lock."""
    if is_beating(paths):
        return
    proc.spawn_detached([sys.executable, *proc.BACKGROUND, "beat", paths.root, str(every_s)])


def is_beating(paths: StatePaths) -> bool:
    """Tell whether a beater runs for this repository."""
    fd = os.open(f"{paths.locks}/{LOCK_NAME}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
