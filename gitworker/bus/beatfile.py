"""Seed 1's state file after a beat: only its `last_heartbeat` line changes.

On the hot path, so the line is replaced as text and no JSON module loads. The lock keeps a beat
from putting an older state back over a transition's.
"""

from __future__ import annotations

import fcntl
import os

from gitworker import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.paths import StatePaths

KEY = '  "last_heartbeat": '


class ViewsLock:
    """The lock of whoever replaces files in `workers/`; it dies with its holder."""

    __slots__ = ("_fd", "_path")

    def __init__(self, paths: StatePaths) -> None:
        self._path = f"{paths.locks}/views"
        self._fd = -1

    def __enter__(self) -> None:
        """Wait for the lock and take it."""
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        """Let the lock go."""
        os.close(self._fd)


def renew_beat(paths: StatePaths, agent: str, ts_ms: int) -> None:
    """Tell the beat in the worker's state file, where it has one; replaced atomically."""
    path = f"{paths.workers}/{agent}.json"
    with ViewsLock(paths):
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.readlines()
        except FileNotFoundError:
            return
        stamp = f'{KEY}"{clock.iso_utc_seconds(ts_ms)}",\n'
        renewed = [stamp if line.startswith(KEY) else line for line in lines]
        if renewed != lines:
            replace_text(path, "".join(renewed))


def replace_text(path: str, text: str) -> None:
    """Replace a text file atomically."""
    partial = f"{path}.{os.getpid()}.tmp"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(partial, path)
