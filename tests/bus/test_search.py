"""Search: its results, their order, and an index that can be killed, lost and rebuilt."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitworker.bus.blobs import save_blob
from gitworker.bus.search.search_messages import BATCH, forget_pruned, index_some, search
from gitworker.errors import Invalid, Unavailable
from gitworker.paths import StatePaths
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.search_index import SqliteSearchIndex
from tests.store.support import foreign, send

INDEX = """
import os, sys
from gitworker.bus.search.search_messages import search
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import open_database
from gitworker.store.sqlite.search_index import SqliteSearchIndex
if sys.argv[2] == "die":
    add, done = SqliteSearchIndex.add, []
    def dying(self, texts, until, last_id):
        add(self, texts, until=until, last_id=last_id)
        os.kill(os.getpid(), 9)
    SqliteSearchIndex.add = dying
paths = StatePaths(sys.argv[1])
search(open_database(paths.database), paths, ["x"])
"""
KILLED = -9


def note(store: Database, name: str, payload: object, **changes: str | int | None) -> None:
    """Publish one message."""
    send(store, name, payload=json.dumps(payload), **changes)


def many(store: Database, number: int, word: str = "x") -> None:
    """Publish many messages in one transaction."""
    with store.write() as writer:
        for at in range(number):
            writer.run(
                "messages.publish",
                id=f"{word}{at}", ts_ms=1, from_agent="hq", to_agent=None, type="x-note",
                correlation_id=None, in_reply_to=None, payload=f'"{word}"', payload_ref=None,
            )  # fmt: skip


def found(store: Database, state: StatePaths, *words: str, limit: int = 1000) -> list[str]:
    """Return the ids that a search finds, in its order."""
    return [one.message["id"] for one in search(store, state, words, limit=limit)]


def test_words_are_found(state: StatePaths, store: Database) -> None:
    """All words must occur, in keys, values or the message's own fields; newest first."""
    note(store, "a", {"step": "running tests", "file": "src/auth.py"}, correlation_id="login-form")
    note(store, "b", {"step": "TESTS\nfailed", "who": "Zoë"}, from_agent="docs", to_agent="auth")
    note(store, "c", {"step": "idle"})
    assert found(store, state, "tests") == ["b", "a"]
    assert found(store, state, "tests", "auth") == ["b", "a"]
    assert found(store, state, "tests", "docs") == ["b"]
    assert found(store, state, "zoe") == ["b"]
    assert found(store, state, "src/auth.py") == ["a"]
    assert found(store, state, "login-form") == ["a"]
    assert found(store, state, "running tests") == ["a"]
    assert found(store, state, "tests running") == []
    assert found(store, state, "tes*") == ["b", "a"]
    assert found(store, state, "tes") == []
    assert found(store, state, "step", limit=2) == ["c", "b"]


def test_a_result(state: StatePaths, store: Database) -> None:
    """A result is the message with the documented fields and the part of it that matches."""
    note(store, "a", {"text": "x" * 100 + " needle " + "y" * 200}, correlation_id="t")
    (one,) = search(store, state, ["needle"])
    assert one.message["payload"]["text"].endswith("y")
    assert (one.message["seq"], one.message["from"], one.message["to"]) == (1, "hq", None)
    assert " needle " in one.snippet
    assert len(one.snippet) < 130


@pytest.mark.parametrize(
    "words",
    [
        ["a AND"],
        ["NEAR("],
        ["x:y"],
        ["-x"],
        ["^a"],
        ["a", "OR"],
        ["(", "a"],
        ['"a'],
        ["{a b}"],
        ["a'"],
    ],
)
def test_odd_words_are_words(state: StatePaths, store: Database, words: list[str]) -> None:
    """Operators of FTS5 and SQL are plain text."""
    note(store, "a", {"x": "nothing"})
    search(store, state, words)
    with pytest.raises(Invalid):
        search(store, state, ["()"])


def test_large_and_odd_payloads(state: StatePaths, store: Database) -> None:
    """Large payloads are searched; bytes, bad UTF-8 and broken JSON stop no search."""
    ref = save_blob(state.blobs, json.dumps({"long": "haystack " * 1000 + "needle"}).encode())
    send(store, "large", payload_ref=ref)
    send(store, "missing", payload_ref="sha256-" + "0" * 64)
    insert = "INSERT INTO messages (id, ts_ms, from_agent, type, payload) VALUES "
    foreign(
        state.database,
        insert + "('bytes', 1, 'n', 't', x'6e6565646c65')",
        insert + "('bad', 1, 'n', 't', CAST(x'ff206e6565646c6520ff' AS TEXT))",
        insert + "('number', 1, 'n', 't', 12)",
        insert + "('surrogate', 1, 'n', 't', '\"\\ud800 needle\"')",
    )
    assert found(store, state, "needle") == ["surrogate", "bad", "bytes", "large"]
    assert found(store, state, "12") == ["number"]


def test_indexing_continues_from_its_position(state: StatePaths, store: Database) -> None:
    """Each search indexes new messages in batches and announces their number."""
    announced: list[int] = []
    many(store, BATCH * 2 + 3)
    assert len(search(store, state, ["x"], limit=5000, announce=announced.append)) == BATCH * 2 + 3
    many(store, 2, "y")
    assert len(search(store, state, ["y"], announce=announced.append)) == 2
    assert announced == [BATCH * 2 + 3, 2]


def test_the_background_job_is_bounded(state: StatePaths, store: Database) -> None:
    """The drain indexes a bounded number of batches at a time."""
    many(store, BATCH * 41)
    assert index_some(store, state) == BATCH * 40
    assert index_some(store, state) == BATCH


def test_killed_while_indexing(state: StatePaths, store: Database) -> None:
    """A batch indexed by a killed process is in the index once, and the rest follows."""
    many(store, BATCH * 2)
    process = subprocess.run([sys.executable, "-c", INDEX, state.root, "die"], check=False)
    assert process.returncode == KILLED
    index = SqliteSearchIndex(state.search)
    assert index.position() == BATCH
    index.close()
    ids = found(store, state, "x", limit=5000)
    assert len(ids) == len(set(ids)) == BATCH * 2


def test_many_searchers_at_once(state: StatePaths, store: Database) -> None:
    """Processes that index at the same time index every message once."""
    many(store, BATCH * 4)
    racers = [subprocess.Popen([sys.executable, "-c", INDEX, state.root, "live"]) for _ in range(3)]
    assert [racer.wait() for racer in racers] == [0, 0, 0]
    ids = found(store, state, "x", limit=5000)
    assert len(ids) == len(set(ids)) == BATCH * 4


def test_a_lost_index_is_rebuilt(state: StatePaths, store: Database) -> None:
    """An index that is removed, emptied, overwritten or of another version is filled again."""
    note(store, "a", "needle")
    for damage in (None, b"", b"no database at all" * 300):
        assert found(store, state, "needle") == ["a"]
        for suffix in ("-wal", "-shm"):
            Path(state.search + suffix).unlink(missing_ok=True)
        Path(state.search).unlink()
        if damage is not None:
            Path(state.search).write_bytes(damage)
    assert found(store, state, "needle") == ["a"]
    index = SqliteSearchIndex(state.search)
    index.connection.execute("PRAGMA user_version = 99")
    index.close()
    assert found(store, state, "needle") == ["a"]


def test_a_page_that_was_overwritten(state: StatePaths, store: Database) -> None:
    """Damage inside the file is noticed by a search, and the index is rebuilt then too."""
    many(store, BATCH)
    assert len(found(store, state, "x")) == BATCH
    index = SqliteSearchIndex(state.search)
    index.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    index.close()
    for suffix in ("-wal", "-shm"):
        Path(state.search + suffix).unlink(missing_ok=True)
    raw = bytearray(Path(state.search).read_bytes())
    raw[4096:] = b"\xff" * (len(raw) - 4096)
    Path(state.search).write_bytes(raw)
    assert len(found(store, state, "x")) == BATCH


def test_another_bus(state: StatePaths, store: Database) -> None:
    """An index with more messages than the bus ever had belongs to another bus."""
    note(store, "a", "needle")
    index = SqliteSearchIndex(state.search)
    index.add([(50, "needle")], until=50, last_id="other")
    index.close()
    assert found(store, state, "needle") == ["a"]


def test_a_restored_bus(state: StatePaths, store: Database) -> None:
    """An index of messages that the bus had before an older copy was restored is not used."""
    many(store, 30, word="old")
    assert len(found(store, state, "old")) == 30
    store.execute("DELETE FROM messages WHERE seq > 10")
    store.execute("UPDATE sqlite_sequence SET seq = 10 WHERE name = 'messages'")
    many(store, 30, word="new")
    assert [len(found(store, state, word)) for word in ("old", "new")] == [10, 30]


def test_pruned_messages_are_forgotten(state: StatePaths, store: Database) -> None:
    """A deleted message is not found, whether or not the index has been updated."""
    many(store, 30)
    assert len(found(store, state, "x")) == 30
    store.execute("DELETE FROM messages WHERE seq <= 10 OR seq = 25")
    assert len(found(store, state, "x", limit=15)) == 15
    forget_pruned(store, state)
    index = SqliteSearchIndex(state.search)
    assert len(index.find('"x"', before=1 << 60, limit=100)) == 19
    index.close()
    store.execute("DELETE FROM messages")
    forget_pruned(store, state)
    assert found(store, state, "x") == []


def test_no_place_for_the_index(state: StatePaths, store: Database) -> None:
    """If the index cannot be written, the error says so, and the bus is unchanged."""
    note(store, "a", "needle")
    os.mkdir(state.search)
    with pytest.raises(Unavailable):
        search(store, state, ["needle"])
    assert len(store.rows("messages.follow", after=0, limit=9)) == 1
