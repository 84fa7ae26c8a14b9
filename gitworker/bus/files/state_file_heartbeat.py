"""Update `last_heartbeat` in a worker's state file after a heartbeat.

On the hot path, so the line is replaced as text and no JSON module loads. The lock prevents that a
heartbeat overwrites the state that a transition has just written.
"""

from __future__ import annotations

import os

from gitworker import clock
from gitworker.bus.files.timed_lock import TimedLock
from gitworker.errors import Naming
from gitworker.paths import open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.paths import StatePaths

WAIT_MS = 2000
KEY = '  "last_heartbeat": '


def state_files_lock(paths: StatePaths) -> TimedLock:
    """Return the lock for replacing files in `workers/`."""
    return TimedLock(f"{paths.locks}/views", wait_ms=WAIT_MS)


def update_state_file_heartbeat(paths: StatePaths, agent: str, ts_ms: int) -> None:
    """Write the time of a heartbeat to the worker's state file, if it has one, atomically.

    If the lock stays taken, the next heartbeat writes it.
    """
    path = f"{paths.workers}/{agent}.json"
    with state_files_lock(paths) as taken:
        if not taken:
            return
        try:
            with open(path, encoding="utf-8", opener=open_regular) as file:
                lines = file.readlines()
        except (OSError, UnicodeDecodeError):  # fsck and the next change write the file again
            return
        stamp = f'{KEY}"{clock.iso_utc_seconds(ts_ms)}",\n'
        renewed = [stamp if line.startswith(KEY) else line for line in lines]
        if renewed != lines:
            replace_text(path, "".join(renewed))


def replace_text(path: str, text: str) -> None:
    """Replace a text file atomically."""
    partial = f"{path}.{os.getpid()}.tmp"
    with Naming(partial), open(partial, "w", encoding="utf-8", opener=open_regular) as file:
        file.write(text)
    os.replace(partial, path)
