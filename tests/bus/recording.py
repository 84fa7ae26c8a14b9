"""A run of the bus with each write to the disk recorded: `recording.py STATE_DIR FILE EACH`.

Four senders publish EACH messages while a reader polls and acknowledges. Each is a thread with its
own connection, so that one list holds every event in order. A VFS records the writes of SQLite,
patched functions of `os` those of our own code. FILE gets the list, pickled:

write PATH OFFSET BYTES · cut PATH SIZE · sync PATH BY COVERED · rename OLD NEW · drop PATH ·
published ID

COVERED is the length of the list when the sync began: the sync does not cover later events. BY is
`sqlite` or `ours`. `published` is recorded when publish has returned.
"""

import os
import pickle
import sys
import threading
from typing import Any

import apsw

EVENTS: list[tuple[Any, ...]] = []
SENDERS = 4
LARGE_EVERY = 25  # every so many messages are large, and become blobs
EXPORT_EVERY = 10
OPEN: dict[int, str] = {}  # descriptors that our own code writes to, by number


class RecordedFile(apsw.VFSFile):
    """A file of SQLite's."""

    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self.path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        """Write and record it."""
        super().xWrite(data, offset)
        EVENTS.append(("write", self.path, offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        """Truncate and record it."""
        super().xTruncate(size)
        EVENTS.append(("cut", self.path, size))

    def xSync(self, flags: int) -> None:
        """Sync and record it."""
        covered = len(EVENTS)
        super().xSync(flags)
        EVENTS.append(("sync", self.path, "sqlite", covered))


class Recorder(apsw.VFS):
    """SQLite's own access to the disk, recorded."""

    def __init__(self) -> None:
        super().__init__("recorder", "unix", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> RecordedFile:
        """Open a recorded file."""
        return RecordedFile(name, flags)

    def xDelete(self, path: str, sync_directory: bool) -> None:
        """Delete and record it."""
        super().xDelete(path, sync_directory)
        EVENTS.append(("drop", path))


def listen(root: str) -> None:
    """Record every change that our own code makes to files below `root`."""
    real_open, real_close, real_write, real_replace = os.open, os.close, os.write, os.replace

    def open_(path: Any, *words: Any, **named: Any) -> int:
        file = real_open(path, *words, **named)
        if isinstance(path, str) and path.startswith(root):
            OPEN[file] = path
        return file

    def close(file: int) -> None:
        OPEN.pop(file, None)
        real_close(file)

    def write(file: int, data: Any) -> int:
        if file not in OPEN:
            return real_write(file, data)
        offset = os.lseek(file, 0, os.SEEK_CUR)
        done = real_write(file, data)
        EVENTS.append(("write", OPEN[file], offset, bytes(data[:done])))
        return done

    def replace(old: str, new: str) -> None:
        real_replace(old, new)
        EVENTS.append(("rename", old, new))

    def syncing(real: Any) -> Any:
        def sync(file: int) -> None:
            covered = len(EVENTS)
            real(file)
            EVENTS.append(("sync", OPEN.get(file, ""), "ours", covered))

        return sync

    os.open, os.close, os.write, os.replace = open_, close, write, replace  # type: ignore
    os.fsync, os.fdatasync = syncing(os.fsync), syncing(os.fdatasync)


def send(root: str, name: str, each: int) -> None:
    """Publish, and record each message when publish has returned."""
    from gitworker.bus import open_bus

    with open_bus(root, agent=name) as bus:
        for number in range(each):
            identity = f"{name}-{number:05}"
            is_large = number % LARGE_EVERY == 0
            payload = {"text": identity * (600 if is_large else 1)}
            EVENTS.append(("published", bus.publish("x-note", payload, id=identity)))
            if number % EXPORT_EVERY == 0:
                bus.export()


def read(root: str, total: int) -> None:
    """Poll and acknowledge until every message was read."""
    from gitworker.bus import open_bus

    read = 0
    with open_bus(root, agent="reader") as bus:
        while read < total:
            messages = bus.poll(20, wait_s=5.0)
            read += len(messages)
            if messages:
                bus.ack(messages[-1]["seq"])


def main(root: str, file: str, each: str) -> None:
    """Run senders and reader, and write the recording to a file."""
    recorder = Recorder()
    listen(root)
    from gitworker.store.sqlite.migrate import create_database

    database = create_database(f"{root}/bus.db")
    EVENTS.append(("published", ""))  # the bus exists from here on
    names = [f"sender-{number}" for number in range(SENDERS)]
    threads = [threading.Thread(target=send, args=(root, name, int(each))) for name in names]
    threads.append(threading.Thread(target=read, args=(root, SENDERS * int(each))))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    database.close()
    recorder.unregister()
    with open(file, "wb") as out:
        pickle.dump(EVENTS, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
