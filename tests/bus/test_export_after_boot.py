"""Log files after a boot: the lines that the table holds are written again, once."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitworker import clock
from gitworker.bus.files.export import export_logs
from gitworker.bus.publish import Outgoing, publish
from gitworker.paths import StatePaths
from gitworker.store.sqlite.database import Database

MESSAGES = 40
NUL_RUN = 64


def hole(text: bytes) -> bytes:
    """Return a text with zeros in its middle."""
    half = len(text) // 2
    return text[:half] + bytes(NUL_RUN) + text[half + NUL_RUN :]


def torn(text: bytes) -> bytes:
    """Return a text without the end of its last line, in the old size."""
    return text[:-NUL_RUN] + b"x" * NUL_RUN


def without_a_line(text: bytes) -> bytes:
    """Return a text of the same size in which one line has become part of the next."""
    lines = text.splitlines(keepends=True)
    at = len(lines) // 2
    return b"".join((*lines[:at], b" " * len(lines[at]), *lines[at + 1 :]))


def doubled(text: bytes) -> bytes:
    """Return a text of the same size in which one line replaces another one."""
    lines = text.splitlines(keepends=True)
    at = next(i for i in range(10, len(lines) - 1) if len(lines[i]) == len(lines[i + 1]))
    return b"".join((*lines[: at + 1], *lines[at : at + 1], *lines[at + 2 :]))


def fill(store: Database, state: StatePaths) -> None:
    """Publish messages, make tasks and cancel them; export."""
    for number in range(MESSAGES):
        with store.write() as writer:
            publish(writer, Outgoing("x-note", payload={"n": number}), now=1)
            writer.run(
                "tasks.insert",
                task=f"t{number:03}", title="", requires_approval=0, max_retries=3, now=1,
            )  # fmt: skip
        move(store, f"t{number:03}")
    export_logs(store, state)


def move(store: Database, task: str) -> None:
    """Cancel a task, with its line in the log."""
    line = json.dumps([{"entity_id": task, "to_state": "cancelled"}])
    store.execute(
        "INSERT INTO transitions (ts_ms, machine, entity_id, version, from_state, event, to_state,"
        " actor, lines) VALUES (1, 'task', :task, 1, 'DEFINED', 'USER_CANCELLED', 'CANCELLED',"
        " 'hq', :line)",
        {"task": task, "line": line},
    )


@pytest.mark.parametrize("log", ["bus_log", "transition_log"])
@pytest.mark.parametrize("damage", [hole, torn, without_a_line])
def test_a_damaged_file_is_complete_again(
    state: StatePaths,
    store: Database,
    monkeypatch: pytest.MonkeyPatch,
    log: str,
    damage: Callable[[bytes], bytes],
) -> None:
    """A file with its old size but not its old content is repaired in the next boot."""
    fill(store, state)
    path = Path(getattr(state, log))
    before = path.read_bytes()
    path.write_bytes(damage(before))
    assert path.stat().st_size == len(before)
    monkeypatch.setattr("gitworker.clock.boot_id", lambda: "the next")
    export_logs(store, state)
    assert path.read_bytes() == before


def test_a_doubled_line(
    state: StatePaths, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message in the place of another one is noticed too."""
    fill(store, state)
    path = Path(state.bus_log)
    before = path.read_bytes()
    path.write_bytes(doubled(before))
    monkeypatch.setattr("gitworker.clock.boot_id", lambda: "the next")
    export_logs(store, state)
    assert path.read_bytes() == before


def test_the_lines_are_written_once_a_boot(
    state: StatePaths, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first export of a boot writes the lines again, and the next one leaves the file alone."""
    fill(store, state)
    path = Path(state.bus_log)
    before = path.read_bytes()
    monkeypatch.setattr("gitworker.clock.boot_id", lambda: "the next")
    export_logs(store, state)
    assert path.read_bytes() == before
    for name in ("bus", "transitions"):
        row = store.row("exports.position", log=name)
        assert row is not None
        assert row["boot_id"] == "the next"
    path.write_bytes(hole(before))
    export_logs(store, state)
    assert path.read_bytes() == hole(before), "it was written again within one boot"


def test_lines_of_deleted_messages_stay(
    state: StatePaths, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines before a hole stay if their messages are no longer in the table."""
    fill(store, state)
    path = Path(state.bus_log)
    before = path.read_bytes()
    store.execute("DELETE FROM messages WHERE seq <= 3")
    path.write_bytes(hole(before))
    monkeypatch.setattr("gitworker.clock.boot_id", lambda: "the next")
    export_logs(store, state)
    assert path.read_bytes() == before


def test_an_older_database(state: StatePaths, store: Database) -> None:
    """A position without a boot counts as one of another boot."""
    fill(store, state)
    path = Path(state.bus_log)
    before = path.read_bytes()
    store.execute("UPDATE export_positions SET boot_id = NULL")
    path.write_bytes(hole(before))
    export_logs(store, state)
    assert path.read_bytes() == before
    rows = store.execute("SELECT DISTINCT boot_id FROM export_positions")
    assert rows == [{"boot_id": clock.boot_id()}]


def test_a_shortened_file(
    state: StatePaths, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shortened or missing file is complete again too."""
    fill(store, state)
    path = Path(state.bus_log)
    before = path.read_bytes()
    for number, size in enumerate((0, len(before) // 2, len(before) - 1)):
        os.truncate(path, size)
        monkeypatch.setattr("gitworker.clock.boot_id", lambda n=number: f"boot {n}")
        export_logs(store, state)
        assert path.read_bytes() == before
