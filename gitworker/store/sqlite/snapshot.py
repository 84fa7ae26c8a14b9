"""Copies of a database: a consistent one of a live database, one of a read-only directory.

The second is read if the directory cannot be written and the `-shm` does not exist: SQLite needs
the `-shm` to read the `-wal`. So the database is copied with its `-wal` to a temporary directory,
which is deleted as soon as the copy is open. No process writes at the same time, since a writer
would have created the `-shm`; if a file changed during the copy, it is copied again.
"""

import os
import shutil
import tempfile

import apsw

PARTS = ("", "-wal")
TRIES = 5


def open_snapshot(path: str) -> apsw.Connection:
    """Return a connection to a copy of the database; raises apsw.Error."""
    with tempfile.TemporaryDirectory(prefix="gitworker-") as directory:
        copy = f"{directory}/bus.db"
        for _ in range(TRIES):
            before = _stamps(path)
            for part in PARTS:
                _copy(f"{path}{part}", f"{copy}{part}")
            if _stamps(path) == before:
                break
        connection = apsw.Connection(copy, flags=apsw.SQLITE_OPEN_READWRITE)
        connection.execute("SELECT COUNT(*) FROM sqlite_schema").fetchall()  # opens -wal and -shm
        return connection


def copy_database(source: str, target: str) -> None:
    """Copy a live database by SQLite's backup API; the target appears complete.

    Raises apsw.Error.
    """
    partial = f"{target}.{os.getpid()}.tmp"
    connection = apsw.Connection(source, flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        copy = apsw.Connection(partial)
        try:
            with copy.backup("main", connection, "main") as backup:
                backup.step()
        finally:
            copy.close()
        os.replace(partial, target)
    finally:
        connection.close()
        if os.path.isfile(partial):
            os.unlink(partial)


def _copy(source: str, target: str) -> None:
    try:
        shutil.copyfile(source, target)
    except FileNotFoundError:
        if os.path.exists(target):
            os.unlink(target)


def _stamps(path: str) -> list[tuple[int, int] | None]:
    stamps: list[tuple[int, int] | None] = []
    for part in PARTS:
        try:
            found = os.stat(f"{path}{part}")
        except FileNotFoundError:
            stamps.append(None)
        else:
            stamps.append((found.st_size, found.st_mtime_ns))
    return stamps
