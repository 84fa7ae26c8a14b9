"""Exporters that die after so many bytes: `dying.py STATE_DIR FIRST LAST STEP`.

For each number of bytes a child publishes two messages and is killed in the middle of the write
that exports them. Next comes one of four steps in turn: nothing, an export of ours, an export of
another program, or one that dies likewise. Each child opens the database with one library only.
"""

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable

from gitworker.bus.files.export import export_logs
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import open_database
from tests.store.support import send

write = os.write


def run(call: Callable[[], None]) -> int:
    """Run a function in a child and return its exit status."""
    pid = os.fork()
    if pid == 0:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - a child that must not go on
            write(2, repr(error).encode())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def die_after(left: int) -> None:
    """Make the next write of a log line write so many bytes and end the process."""

    def partly(file: int, data: bytes) -> int:
        write(file, bytes(data[:left]))
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    os.write = partly  # type: ignore[assignment]


def publish_and_die(paths: StatePaths, size: int) -> None:
    """Publish two messages and die while they are exported."""
    store = open_database(paths.database)
    for part in "ab":
        send(store, f"m{size}{part}", payload='"ü"')
    die_after(size)
    export_logs(store, paths)


def export(paths: StatePaths) -> None:
    """Export as we do."""
    export_logs(open_database(paths.database), paths)


def export_as_foreign_program(paths: StatePaths, size: int | None) -> None:
    """Export as a foreign program does; if a size is given, die after so many bytes."""
    connection = sqlite3.connect(paths.database)
    connection.row_factory = sqlite3.Row
    (last,) = connection.execute("SELECT last_seq FROM export_state WHERE id = 1").fetchone()
    rows = connection.execute(
        "SELECT * FROM messages WHERE seq > ? ORDER BY seq", (last,)
    ).fetchall()
    text = "".join(json.dumps(dict(row)) + "\n" for row in rows).encode()
    with open(paths.bus_log, "ab", buffering=0) as file:
        file.write(text[:size])
    if size is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    if rows:
        connection.execute("UPDATE export_state SET last_seq = ? WHERE id = 1", (rows[-1]["seq"],))
    connection.commit()


def main(root: str, first: str, last: str, step: str) -> None:
    """Kill at every size of the range."""
    paths = StatePaths(root)
    for number, size in enumerate(range(int(first), int(last), int(step))):
        assert run(lambda: publish_and_die(paths, size)) == -signal.SIGKILL  # noqa: B023
        follower = number % 4
        if follower == 1:
            assert run(lambda: export(paths)) == 0
        elif follower == 2:
            assert run(lambda: export_as_foreign_program(paths, None)) == 0
        elif follower == 3:
            status = run(lambda: export_as_foreign_program(paths, size))  # noqa: B023
            assert status == -signal.SIGKILL


if __name__ == "__main__":
    main(*sys.argv[1:])
