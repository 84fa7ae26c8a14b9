"""A prune with each write to the disk recorded: `recording_prune.py STATE_DIR FILE NUMBER`.

NUMBER old messages are published and exported, some of them large; then they are pruned. FILE gets
a list as in `recording.py`: `published` with an id for each message, without one before the prune.
"""

import builtins
import os
import pickle
import sys
from typing import Any

from tests.bus.recording import EVENTS, Recorder, listen

LARGE_EVERY = 100


class Direct:
    """A file whose writes are made through `os`, which records them."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def write(self, data: bytes) -> int:
        """Write all the bytes."""
        return os.write(self._fd, data)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._fd

    def __enter__(self) -> "Direct":
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        os.close(self._fd)


def direct(path: str, mode: str, **named: Any) -> Any:
    """Open a file; if for writing, one whose writes are recorded."""
    return Direct(path) if mode == "wb" else builtins.open(path, mode, **named)


def main(root: str, file: str, number: str) -> None:
    """Publish and prune, and write the recording to a file."""
    recorder = Recorder()
    listen(root)
    from gitworker.bus.blobs import save_blob
    from gitworker.bus.files import archive
    from gitworker.bus.files.export import export_logs
    from gitworker.bus.files.retention import PruneRequest, prune
    from gitworker.paths import StatePaths
    from gitworker.store.sqlite.migrate import create_database
    from tests.store.support import send

    archive.open = direct  # type: ignore[attr-defined]
    paths = StatePaths(root)
    store = create_database(paths.database)
    for at in range(int(number)):
        ref = save_blob(paths.blobs, b'"%d"' % at) if at % LARGE_EVERY == 0 else None
        send(store, f"m{at}", ts_ms=1, payload_ref=ref)
        EVENTS.append(("published", f"m{at}"))
    export_logs(store, paths)
    EVENTS.append(("published", ""))
    prune(store, paths, PruneRequest(1000, frozenset(), 1 << 60))
    store.close()
    recorder.unregister()
    with builtins.open(file, "wb") as out:
        pickle.dump(EVENTS, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
