"""Notify followers by the file `bell`, and start the drain in the background. On the hot path."""

from __future__ import annotations

import os

from gitworker import clock
from gitworker.paths import StatePaths, open_regular

DRAIN_EVERY_MS = 2000
STAMP = "drain-stamp"  # touched when a drain is started here, so that frequent polls start few


def notify_followers(path: str) -> None:
    """Touch the file that followers watch."""
    fd = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.close(fd)


def start_drain_job(paths: StatePaths, common_dir: str) -> bool:
    """Start a drain in the background unless this function did so less than two seconds ago."""
    stamp = f"{paths.root}/{STAMP}"
    try:
        age_ms = clock.now_ms() - os.stat(stamp).st_mtime_ns // 1_000_000
        if abs(age_ms) < DRAIN_EVERY_MS:
            return False
    except FileNotFoundError:
        pass
    notify_followers(stamp)
    from gitworker.processes.jobs import start_job  # two files more, only if a drain is due

    start_job("drain", common_dir)
    return True


class FollowerNotifier:
    """The file that followers watch, kept open for a process that publishes often."""

    __slots__ = ("_fd", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1

    def ring(self) -> None:
        """Touch the file; if that fails, followers notice the message within 2 s."""
        try:
            if self._fd < 0:
                self._fd = open_regular(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
            os.pwrite(self._fd, b"\n", 0)
        except OSError:
            return

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
