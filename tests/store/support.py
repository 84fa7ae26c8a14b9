"""Helpers for the tests of the store: a bus, foreign programs on it, processes that write."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import open_database

ROOT = Path(__file__).resolve().parents[2]
EXECUTE = ROOT / "fixtures" / "foreign" / "execute.py"
PARTICIPANT = ROOT / "fixtures" / "foreign" / "participant.py"
SEED2 = ROOT / "fixtures" / "databases" / "seed2.sql"
WRITER = Path(__file__).with_name("writing.py")
DEADLINE_S = 30
SCALE = int(os.environ.get("GITWORKER_TEST_SCALE", "1"))

Statement = str | tuple[str, list[object]]


def foreign(database: Path | str, *statements: Statement) -> list[object]:
    """Run statements through Python's sqlite3 in a separate process: rows, or error texts."""
    asked = [(s, []) if isinstance(s, str) else s for s in statements]
    return _answer([str(EXECUTE), str(database)], json.dumps(asked))


def engine(database: Path | str, *statements: Statement) -> list[object]:
    """Run statements through a connection of ours: rows, or the texts of refusals."""
    answers: list[object] = []
    with opened(database) as store:
        for sql, values in ((s, []) if isinstance(s, str) else s for s in statements):
            try:
                rows = store.connection.execute(sql, values)  # type: ignore[arg-type]
                answers.append([list(row) for row in rows])
            except apsw.Error as error:
                answers.append(str(error))
    return answers


def foreign_script(database: Path | str, script: Path) -> None:
    """Run an SQL script through Python's sqlite3 in a separate process."""
    _answer([str(EXECUTE), str(database), "--script", str(script)], "")


def participant(state: Path | str, verb: str, *arguments: str) -> object:
    """Run one command of a foreign program on the bus of a state directory."""
    return _answer([str(PARTICIPANT), str(state), verb, *arguments], "")


def writer_process(database: Path | str, *arguments: str) -> "subprocess.Popen[str]":
    """Start a process of ours that writes to the bus (see writing.py)."""
    return subprocess.Popen(
        [sys.executable, str(WRITER), str(database), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@contextmanager
def opened(database: Path | str) -> Iterator[Database]:
    """Open a bus as our programs do, and close it afterwards."""
    store = open_database(str(database))
    try:
        yield store
    finally:
        store.close()


def wait_until(condition: Callable[[], bool], event: str) -> None:
    """Wait until a condition holds; fail after a generous deadline."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited {DEADLINE_S} s for {event}"
        select.select([], [], [], 0.005)


def send(store: Database, message_id: str, **changes: str | int | None) -> None:
    """Publish one message straight through the store."""
    values: dict[str, str | int | None] = {
        "id": message_id, "ts_ms": 1_700_000_000_000, "from_agent": "hq", "to_agent": None,
        "type": "x-note", "correlation_id": None, "in_reply_to": None, "payload": None,
        "payload_ref": None,
    }  # fmt: skip
    with store.write() as writer:
        writer.run("messages.publish", **{**values, **changes})


def _answer(arguments: list[str], text: str) -> list[object]:
    done = subprocess.run(
        [sys.executable, "-I", *arguments], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]
