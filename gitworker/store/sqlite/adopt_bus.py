"""Adopt a directory `.worker-state` that another program of the bus protocol has made.

The directory is moved to `adopted` in the state directory and stays there as it was. Its bus.db and
blobs are copied from there, so that an interrupted adoption continues with the next command.
"""

import os
import shutil

import apsw

from gitworker.errors import Conflict, Unavailable
from gitworker.paths import StatePaths
from gitworker.rules_text import quoted
from gitworker.store.sqlite.database import translated
from gitworker.store.sqlite.migrate import own_names, require_known_protocol
from gitworker.store.sqlite.snapshot import copy_database
from gitworker.store.sqlite.write_gate import WriteGate


def adopt_bus(paths: StatePaths, directory: str) -> bool:
    """Make the bus of a directory ours if there is no bus yet; return whether that happened.

    Raises Conflict if another program has the bus open, Unavailable if it cannot be used or moved;
    then the directory stays as it is.
    """
    with WriteGate(paths.gate):
        if os.path.lexists(paths.database):  # another command was faster
            return False
        if not os.path.lexists(paths.adopted):
            _require_adoptable(f"{directory}/bus.db")
            _move(directory, paths.adopted)
        _copy_blobs(f"{paths.adopted}/blobs", paths.blobs)
        try:
            copy_database(f"{paths.adopted}/bus.db", paths.database)
        except apsw.Error as error:
            raise translated(error, paths.database) from error
    return True


def _require_adoptable(path: str) -> None:
    """Refuse a bus that is damaged, of another protocol, in use, or has a table named like ours.

    Empties its `-wal`.
    """
    try:
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.pragma("locking_mode", "exclusive")
            connection.execute("BEGIN EXCLUSIVE")
            if require_known_protocol(connection, path) is None:
                _refuse_own_names(connection, path)
            connection.execute("ROLLBACK")
        finally:
            connection.close()
    except apsw.BusyError:
        raise Conflict(
            f"another program has {path} open, so it cannot be adopted yet",
            "git worker init   # once that program has closed it",
            code="busy",
        ) from None
    except (apsw.NotADBError, apsw.CorruptError) as error:
        directory = os.path.dirname(path)
        raise Unavailable(
            f"{path} is damaged, so it cannot be adopted: {error}",
            f"mv {quoted(directory)} {quoted(directory)}-damaged   # then: git worker init",
            code="database_damaged",
        ) from error
    except apsw.Error as error:
        raise translated(error, path) from error


def _refuse_own_names(connection: apsw.Connection, path: str) -> None:
    names = own_names()
    for kind, name in connection.execute("SELECT type, name FROM sqlite_schema"):
        if str(name).lower() in names:
            directory = os.path.dirname(path)
            raise Unavailable(
                f"{path} has the {kind} {ascii(name)[1:-1]}, whose name gitworker needs for its own"
                ", so it cannot be adopted",
                f"mv {quoted(directory)} {quoted(directory)}-other   # then: git worker init",
                code="not_adopted",
            )


def _move(directory: str, target: str) -> None:
    try:
        os.rename(directory, target)
    except OSError as error:
        raise Unavailable(
            f"cannot move {directory} into the state directory: {error.strerror}",
            f"mv {quoted(directory)} {quoted(target)}",
            code="not_adopted",
        ) from error


def _copy_blobs(source: str, target: str) -> None:
    if os.path.isdir(source):
        os.makedirs(target, mode=0o700, exist_ok=True)
        for name in os.listdir(source):
            shutil.copyfile(f"{source}/{name}", f"{target}/{name}.tmp")
            os.replace(f"{target}/{name}.tmp", f"{target}/{name}")
