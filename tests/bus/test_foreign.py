"""A program that follows only docs/protocol.md shares the bus with us."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitworker.bus.consume import full_line, unread
from gitworker.bus.files.export import export_logs
from gitworker.bus.following.message_fields import message_fields
from gitworker.bus.publish import Outgoing, publish
from gitworker.claims.leases import take_claim
from gitworker.errors import Conflict
from gitworker.liveness.readings import read_heartbeats, this_moment
from gitworker.liveness.rules_stale import heartbeat_age_ms
from gitworker.paths import StatePaths
from gitworker.store.heartbeats import record_heartbeat
from gitworker.store.messages.mailbox import messages_after, unread_as_json, unread_messages
from gitworker.store.rules_leases import LeaseLength
from gitworker.store.sqlite.database import Database
from tests.store.support import engine, foreign, participant


def lines(path: str) -> list[dict[str, object]]:
    """Return the documents of a JSON Lines file; fail if a line is torn."""
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_messages_pass_both_ways(state: StatePaths, store: Database) -> None:
    """We poll a foreign agent's messages, and it polls and acknowledges ours."""
    published = participant(
        state.root,
        "publish",
        "nim",
        json.dumps({"type": "task_done", "to": "auth", "payload": [1]}),
    )
    ours = unread_messages(store, "auth", limit=9)
    assert [(one.id, one.from_agent, one.payload) for one in ours] == [(published, "nim", "[1]")]
    with store.write() as writer:
        publish(writer, Outgoing("x-ask", to="nim", payload={"q": 1}, id="ours"), now=1)
        publish(writer, Outgoing("x-news", id="to-all"), now=1)
    found = participant(state.root, "poll", "nim")
    assert isinstance(found, list)
    assert [(m["id"], m["payload"]) for m in found] == [("ours", {"q": 1}), ("to-all", None)]
    participant(state.root, "ack", "nim", str(found[-1]["seq"]))
    assert participant(state.root, "poll", "nim") == []
    assert store.row("messages.cursor", agent="nim") == {"seq": found[-1]["seq"]}
    with store.write() as writer:
        writer.run("messages.ack", agent="nim", seq=1, now=1)
    assert participant(state.root, "poll", "nim") == [], "an ack moved the cursor back"


def test_a_foreign_retry_is_idempotent(state: StatePaths, store: Database) -> None:
    """The same id published by both sides is one message."""
    with store.write() as writer:
        publish(writer, Outgoing("x-note", id="same"), now=1)
    message = json.dumps({"type": "x-note", "id": "same"})
    assert participant(state.root, "publish", "nim", message) == "same"
    assert len(store.rows("messages.follow", after=0, limit=9)) == 1


def test_a_foreign_heartbeat_is_judged_by_the_wall_clock(
    state: StatePaths, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a foreign heartbeat an older monotonic stamp of ours no longer counts."""
    monkeypatch.setattr("gitworker.clock.now_ms", lambda: 1000)
    with store.write(durable=False) as writer:
        record_heartbeat(writer, "nim", status="idle", task=None, progress=None)
    monkeypatch.undo()
    stamped = participant(state.root, "beat", "nim", "working", "t1")
    assert isinstance(stamped, int)
    with store.read() as reader:
        (row,) = reader.rows("liveness.all")
        found = read_heartbeats(reader)["nim"]
    assert (row["status"], row["current_task"], row["progress"]) == ("working", "t1", 0.5)
    assert (found.ts_ms, found.mono_ms, found.boot_id, found.host) == (stamped, None, None, None)
    moment = this_moment()
    assert heartbeat_age_ms(found, moment) == max(0, moment.now_ms - stamped)


def test_heartbeats_without_column_names(state: StatePaths, store: Database) -> None:
    """The heartbeats table has the five documented columns only, so that VALUES alone works."""
    insert = "INSERT OR REPLACE INTO heartbeats VALUES (?, ?, ?, ?, ?)"
    assert foreign(state.database, (insert, ["nim", 7, "idle", None, None])) == [[]]
    assert store.row("liveness.of_agent", agent="nim") is not None


def test_a_heartbeat_with_a_malformed_time_is_old(state: StatePaths, store: Database) -> None:
    """A time that is not a number makes a heartbeat look old; readers do not fail."""
    insert = "INSERT INTO heartbeats VALUES ('nim', '2026-01-01T00:00:00Z', 'idle', NULL, NULL)"
    assert foreign(state.database, insert) == [[]]
    with store.read() as reader:
        assert read_heartbeats(reader)["nim"].ts_ms == 2026


def test_claims_are_shared_and_fenced(state: StatePaths, store: Database) -> None:
    """A foreign claim holds against us, expires, and every new holder gets a higher epoch."""
    epochs = []

    def epoch() -> int:
        (rows,) = foreign(state.database, "SELECT epoch FROM claim_epochs WHERE task_id = 't'")
        assert isinstance(rows, list)
        return int(rows[0][0])

    assert participant(state.root, "claim", "t", "nim") is True
    assert participant(state.root, "claim", "t", "crystal") is False
    epochs.append(epoch())
    assert not _take(store, "auth")
    assert participant(state.root, "renew", "t", "nim") is True
    epochs.append(epoch())
    foreign(state.database, "UPDATE task_claims SET lease_until_ms = 1")
    assert participant(state.root, "claim", "t", "crystal") is True, "delete and insert again"
    epochs.append(epoch())
    assert participant(state.root, "renew", "t", "nim") is False
    foreign(state.database, "UPDATE task_claims SET lease_until_ms = 1")
    assert _take(store, "auth")
    epochs.append(epoch())
    assert _take(store, "auth"), "the holder may take it again"
    epochs.append(epoch())
    participant(state.root, "release", "t", "auth")
    assert participant(state.root, "claim", "t", "nim") is True
    epochs.append(epoch())
    assert epochs == [1, 1, 2, 3, 3, 4]


def test_both_exports_continue_each_other(state: StatePaths, store: Database) -> None:
    """Each message is in bus.jsonl once and in order, whichever program exports it."""
    for turn in range(3):
        for name, exports in (("nim", _foreign_export), ("hq", export_logs)):
            with store.write() as writer:
                publish(writer, Outgoing("x-note", sender=name, id=f"{name}{turn}"), now=1)
            exports(store, state)
    wanted = [f"{name}{turn}" for turn in range(3) for name in ("nim", "hq")]
    assert [line["id"] for line in lines(state.bus_log)] == wanted
    first, second = lines(state.bus_log)[:2]
    assert first.keys() == second.keys(), "our lines have the documented fields"


def test_a_killed_foreign_exporter_doubles_no_line(state: StatePaths, store: Database) -> None:
    """Lines that a foreign exporter wrote but did not record are cut and written again."""
    with store.write() as writer:
        publish(writer, Outgoing("x-note", id="a"), now=1)
    _foreign_export(store, state)
    export_logs(store, state)
    with store.write() as writer:
        publish(writer, Outgoing("x-note", id="b"), now=1)
    with open(state.bus_log, "a", encoding="utf-8") as file:
        file.write('{"seq": 2, "id": "b"}\n{"seq": 3, "id"')
    export_logs(store, state)
    assert [line["id"] for line in lines(state.bus_log)] == ["a", "b"]


@pytest.mark.parametrize("payload", ["x'7b7d'", "CAST(x'22ff22' AS TEXT)", "12", "'no json'"])
def test_odd_payloads_stop_no_reader(state: StatePaths, store: Database, payload: str) -> None:
    """Bytes, bad UTF-8 or broken JSON in a foreign payload stop neither the export nor readers."""
    insert = (
        "INSERT INTO messages (id, ts_ms, from_agent, type, payload) VALUES ('odd', 1, 'n', 't', "
    )
    assert foreign(state.database, f"{insert}{payload})") == [[]]
    with store.write() as writer:
        publish(writer, Outgoing("x-note", id="after"), now=1)
    export_logs(store, state)
    assert [line["id"] for line in lines(state.bus_log)] == ["odd", "after"]
    assert [message["id"] for message in polled(store, state, "x")] == ["odd", "after"]


@pytest.mark.parametrize("odd", ["''", "'half'", "x'ff'", "9e999"])
def test_odd_heartbeats_and_cursors_are_read(state: StatePaths, store: Database, odd: str) -> None:
    """Progress that is not a number counts as missing, a cursor that is not one as zero."""
    assert (
        foreign(
            state.database,
            f"INSERT INTO heartbeats VALUES ('nim', 1, {odd}, {odd}, {odd})",
            f"INSERT INTO heartbeats VALUES (x'ff', 1, {odd}, {odd}, {odd})",
            f"INSERT INTO cursors VALUES ('nim', {odd if odd != '9e999' else 0}, {odd})",
            "INSERT INTO messages (id, ts_ms, from_agent, to_agent, type)"
            " VALUES ('a', 1, 'n', 'nim', 't')",
        )
        == [[]] * 4
    )
    heartbeats = store.rows("observe.agents") + store.rows("liveness.of_agent", agent="nim")
    assert [row["progress"] for row in heartbeats] == [None] * 3
    readers = store.rows("messages.readers", count_to=9)
    assert [(row["last_acked_seq"], row["unread"]) for row in readers] == [(0, 1), (0, 0)]
    json.dumps(heartbeats + readers, allow_nan=False)
    assert len(unread_messages(store, "nim", limit=9)) == 1
    assert len(unread_as_json(store, "nim", limit=9)) == 1
    assert store.row("pressure.unread", agent="nim", limit=9) == {"number": 1}
    with store.write() as writer:
        writer.run("messages.ack", agent="nim", seq=1, now=1)
    assert store.row("messages.cursor", agent="nim") == {"seq": 1}
    assert store.rows("messages.unread", agent="nim", limit=9) == []


def test_odd_log_lines_stop_no_export(state: StatePaths, store: Database) -> None:
    """A transition whose lines are not objects, inserted before schema 5, is skipped."""
    insert = (
        "INSERT INTO transitions (ts_ms, machine, entity_id, version, from_state, event, to_state,"
        " actor, lines) VALUES (1, 'worker', 'w', ?, ?, ?, ?, 'nim', ?)"
    )
    answers = engine(
        state.database,
        "INSERT INTO workers (worker_id, state_changed_at_ms) VALUES ('w', 1)",
        (insert, [1, "IDLE", "assign", "ASSIGNED", "no json"]),
        (insert, [2, "ASSIGNED", "cancel", "IDLE", '["text", 7]']),
        (insert, [3, "IDLE", "assign", "ASSIGNED", '[{"a": 1}]']),
    )
    assert answers == [[]] * 4
    export_logs(store, state)
    assert lines(state.transition_log) == [{"a": 1}]


def _foreign_export(store: Database, state: StatePaths) -> None:
    participant(state.root, "export")


def _take(store: Database, agent: str) -> bool:
    try:
        with store.write() as writer:
            take_claim(writer, "t", agent, length=LeaseLength(60_000))
    except Conflict:
        return False
    return True


def polled(store: Database, state: StatePaths, agent: str) -> list[dict[str, Any]]:
    """Return an agent's unread messages as `msg poll` prints them."""
    found = unread(store, agent, limit=9)
    return [json.loads(full_line(store, one, blobs=state.blobs)) for one in found]


COLUMNS = ("id", "from_agent", "to_agent", "type", "correlation_id", "in_reply_to", "payload_ref")


@pytest.mark.parametrize("column", COLUMNS)
def test_bytes_for_texts_stop_no_reader(state: StatePaths, store: Database, column: str) -> None:
    """Bytes in a text column are read by every reader, as far as they are text."""
    values: dict[str, object] = {"id": "odd", "from_agent": "n", "type": "t"} | {column: "X"}
    quoted = ["x'01ff41'" if value == "X" else f"'{value}'" for value in values.values()]
    insert = f"INSERT INTO messages (ts_ms, {', '.join(values)}) VALUES (1, {', '.join(quoted)})"
    assert foreign(state.database, insert) == [[]]
    with store.write() as writer:
        publish(writer, Outgoing("x-note", id="after", in_reply_to="odd"), now=1)
    lines_ = polled(store, state, "x")
    assert lines_[-1]["id"] == "after"
    if column != "to_agent":  # other agents never receive it
        name = {"from_agent": "from"}.get(column, column)
        assert lines_[0][name] == "\x01\ufffdA"
    for found in (unread_messages(store, "x", limit=9), messages_after(store, 0, limit=9)):
        assert found[-1].id == "after"
        stored = [getattr(one, name) for one in found for name in one.__slots__]
        assert not [value for value in stored if isinstance(value, bytes)]
        assert [message_fields(one, blobs=state.blobs)["seq"] for one in found][-1] == 2
    row = store.row("messages.by_seq", seq=1)
    assert row is not None
    assert row[column] == "\x01\ufffdA"
    answer = store.row("messages.reply", id="odd", agent="x", after=0)
    assert answer is not None
