"""Following the bus, heartbeats, and the notification of followers."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.bus.following.follow_messages import MessageFilter, follow
from gitworker.bus.following.message_fields import message_fields, read_json
from gitworker.bus.following.notify_followers import notify_followers, start_drain_job
from gitworker.bus.heartbeat_message import (
    HeartbeatReport,
    require_heartbeat_worker,
    send_heartbeat,
)
from gitworker.bus.publish import Outgoing, publish
from gitworker.errors import NotFound
from gitworker.paths import StatePaths
from gitworker.store.messages.mailbox import messages_after
from gitworker.store.sqlite.database import Database
from tests.store.support import foreign


def say(store: Database, name: str, **options: Any) -> None:
    """Publish a message."""
    with store.write() as writer:
        publish(writer, Outgoing(options.pop("type", "x-note"), id=name, **options), now=1)


def heard(
    store: Database, state: StatePaths, wanted: MessageFilter, since: int | None = 0
) -> list[str]:
    """Return the ids that a follower receives before its first pause."""
    found = []
    with store.open_waker() as waker:
        for item in follow(store, state, wanted, since=since, waker=waker, max_wait_s=0):
            if item is None:
                break
            found.append(item["id"])
    return found


def test_filters(state: StatePaths, store: Database) -> None:
    """A follower receives what its filter asks for: by task, by type, by sender, or everything."""
    say(store, "a", type="x-one", correlation_id="t")
    say(store, "b", type="x-two", sender="auth")
    assert heard(store, state, MessageFilter()) == ["a", "b"]
    assert heard(store, state, MessageFilter(task="t")) == ["a"]
    assert heard(store, state, MessageFilter(type="x-two")) == ["b"]
    assert heard(store, state, MessageFilter(sender="auth", type="x-one")) == []
    assert heard(store, state, MessageFilter(), since=1) == ["b"]
    assert heard(store, state, MessageFilter(), since=None) == []


def test_it_pauses_and_ends_with_the_database(state: StatePaths, store: Database) -> None:
    """A follower without messages pauses, and it ends when the database is removed."""
    with store.open_waker() as waker:
        stream = follow(store, state, MessageFilter(), since=None, waker=waker, max_wait_s=0)
        assert [next(stream) for _ in range(3)] == [None] * 3
        say(store, "a")
        message = next(stream)
        assert isinstance(message, dict)
        assert message["id"] == "a"
        assert next(stream) is None
        os.rename(state.database, f"{state.database}.old")
        assert list(stream) == []
        assert list(follow(store, state, MessageFilter(), since=0, waker=waker)) == []


@pytest.mark.parametrize(
    ("columns", "payload", "error"),
    [
        ("payload", "'{\"a\": 1}'", None),
        ("payload", "x'5b315d'", None),
        ("payload", "'no json'", "decode_failed"),
        ("payload", "CAST(x'ff' AS TEXT)", "decode_failed"),
        ("payload", "'[NaN]'", "decode_failed"),
        ("payload", "'-Infinity'", "decode_failed"),
        ("payload", "'[1e999]'", "decode_failed"),
        ("payload", "'" + "[" * 9000 + "]" * 9000 + "'", "decode_failed"),
        ("payload", "'" + "[" * 700 + "]" * 700 + "'", "decode_failed"),
        ("payload", "'[1.5, \"\\ud800\", 123456789012345678901234567890]'", None),
        ("payload_ref", "'sha256-0'", "blob_missing"),
    ],
)
def test_odd_messages_are_followed(
    state: StatePaths, store: Database, columns: str, payload: str, error: str | None
) -> None:
    """A message of a foreign program arrives, whatever its content, with the error in it."""
    insert = f"INSERT INTO messages (id, ts_ms, from_agent, type, {columns}) VALUES "
    assert foreign(state.database, f"{insert}('m', 'noon', 'n', 't', {payload})") == [[]]
    (stored,) = messages_after(store, 0, limit=1)
    message = message_fields(stored, blobs=state.blobs)
    assert message["payload_error"] == error
    assert (message["payload"] is None) is (error is not None)


def test_json_that_only_python_reads_is_refused() -> None:
    """JSON that only Python accepts is refused; standard JSON is read."""
    assert read_json('{"a": [1.5, -2e3, null]}') == {"a": [1.5, -2000.0, None]}
    for text in ("NaN", "[Infinity]", "-1e400", "{", b"\xff"):
        with pytest.raises(ValueError, match="is not JSON|Expecting|decode"):
            read_json(text)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@given(JSON_VALUES, st.sampled_from(["", " ", "\n\t", "\r\n "]), st.booleans())
def test_every_json_value_is_read(value: object, blanks: str, is_ascii: bool) -> None:
    """A value is read as the standard module reads it, with white space around it."""
    text = f"{blanks}{json.dumps(value, ensure_ascii=is_ascii)}{blanks}"
    assert read_json(text) == json.loads(text)


@given(st.text(alphabet='{}[]":,\\u0d8-1.eE+tfalsn \t\x00\xa0\ufeff', max_size=12))
def test_broken_json_is_refused(text: str) -> None:
    """A text that the standard module refuses, or cannot write again, is refused; no other."""
    try:
        expected: object = json.loads(text)
        json.dumps(expected, allow_nan=False)
    except ValueError:
        with pytest.raises(ValueError, match="JSON|[Ee]x|control|escape|Extra|string"):
            read_json(text)
        return
    assert read_json(text) == expected


def make_worker(store: Database) -> None:
    """Make the worker `auth` with the task `t` and a claim on it."""
    with store.write() as writer:
        writer.run("workers.insert", worker="auth", now=1)
        writer.run(
            "workers.set_assignment", worker="auth", task="t", branch="auth/t", base_oid=None,
            worktree=None, admin_dir=None, now=1,
        )  # fmt: skip
        writer.run("claims.insert", task="t", agent="auth", now=1, lease_until_ms=2)


def test_a_heartbeat(state: StatePaths, store: Database) -> None:
    """A heartbeat keeps omitted values, renews the claims, and is written to the state file."""
    make_worker(store)
    view = Path(state.workers, "auth.json")
    view.write_text('{\n  "state": "WORKING",\n  "last_heartbeat": null,\n  "pid": 1\n}\n')

    def report(*values: Any) -> tuple[bool, tuple[Any, ...]]:
        new = send_heartbeat(
            store, state, worker="auth", sign=HeartbeatReport(*values), lease_ms=60_000
        )
        row = store.row("liveness.of_agent", agent="auth")
        assert row is not None
        return new, (row["status"], row["current_task"], row["progress"])

    assert report() == (False, ("working", "t", None))
    assert report(None, None, 0.5) == (False, ("working", "t", 0.5))
    assert report("blocked") == (True, ("blocked", "t", 0.5))
    assert report("blocked", "other") == (False, ("blocked", "other", 0.5))
    assert report("idle", None, 0.0) == (False, ("idle", "t", 0.0))
    (message,) = store.rows("messages.follow", after=0, limit=9)
    assert (message["type"], message["correlation_id"]) == ("task_blocked", "t")
    claim = store.row("claims.of_name", task="t")
    assert claim is not None
    assert claim["lease_until_ms"] > 60_000
    document = json.loads(view.read_text())
    assert document["last_heartbeat"]
    assert document["pid"] == 1
    view.write_bytes(b'\xff\xfe\n  "last_heartbeat": null\n')
    assert report("working") == (False, ("working", "t", 0.0)), "a damaged view does no harm"


def test_the_worker_of_a_heartbeat(store: Database) -> None:
    """A worker is named by id, task or branch; without a name it is the caller, but never hq."""
    make_worker(store)
    with store.read() as reader:
        for name, actor in (
            ("auth", "hq"),
            ("t", "hq"),
            ("refs/heads/auth/t", "x"),
            (None, "auth"),
        ):
            assert require_heartbeat_worker(reader, name, actor) == "auth"
        for name, actor in ((None, "hq"), ("unknown", "hq"), (None, "stranger")):
            with pytest.raises(NotFound):
                require_heartbeat_worker(reader, name, actor)


def test_a_drain_is_started_at_most_every_two_seconds(
    state: StatePaths, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A drain is started unless one began here within two seconds, even if the clock jumps."""
    stamp = Path(state.root, "drain-stamp")
    missing = str(tmp_path / "gone")
    assert start_drain_job(state, missing) is True
    now = stamp.stat().st_mtime_ns // 1_000_000
    for at, started in ((now + 1999, False), (now - 1999, False), (now + 2000, True)):
        monkeypatch.setattr("gitworker.clock.now_ms", lambda at=at: at)
        assert start_drain_job(state, missing) is started
    notify_followers(state.bell)
    assert Path(state.bell).exists()
