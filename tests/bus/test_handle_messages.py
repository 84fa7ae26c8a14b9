"""Handing messages to a handler: at least once, in order, none skipped, none for ever."""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gitworker.bus import Bus, Message, open_bus
from gitworker.bus.limits.back_pressure import BackPressure
from gitworker.paths import StatePaths
from gitworker.store.sqlite.database import Database
from tests.store.support import wait_until

CRASHING = """\
import os, sys
from gitworker.bus import open_bus
with open_bus(sys.argv[1], agent="orchestrator") as bus:
    bus.process_loop(lambda message: os._exit(7), stop=lambda: not bus.poll(), attempts=2)
"""

LOCKING = """\
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def hq(state: StatePaths, store: Database) -> Iterator[Bus]:
    """The bus of `hq`, the sender."""
    with open_bus(state.root, agent="hq") as made:
        yield made


@pytest.fixture
def reader(state: StatePaths, store: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bus]:
    """The bus of `orchestrator`, the reader; it retries failed messages soon."""
    monkeypatch.setattr("gitworker.bus.rules_message.BACKOFF_FIRST_MS", 5)
    with open_bus(state.root, agent="orchestrator") as made:
        yield made


class Handler:
    """Records the messages it receives, and fails for those chosen by `fails`."""

    def __init__(self, fails: Callable[[Message], bool]) -> None:
        self.handed: list[Any] = []
        self._fails = fails

    def __call__(self, message: Message) -> None:
        """Handle one message."""
        self.handed.append(message["payload"])
        if self._fails(message):
            raise ValueError(f"no to {message['payload']}")


def run(bus: Bus, handler: Callable[[Message], object], **options: Any) -> None:
    """Process until no message is left."""
    bus.process_loop(handler, stop=lambda: not bus.poll(), **options)


def rows(store: Database, table: str) -> list[Any]:
    """Return the rows of a table."""
    return store.execute(f"SELECT * FROM {table}")


def test_all_are_handled_in_order(hq: Bus, reader: Bus, store: Database) -> None:
    """Each message is handed out once and acknowledged after its handler returned."""
    hq.publish_many({"type": "x-job", "payload": n} for n in range(250))
    cursors: list[int] = []

    def handle(message: Message) -> None:
        cursors.append(message["seq"] - reader.poll(1)[0]["seq"])

    run(reader, handle)
    assert cursors == [0] * 250
    assert rows(store, "deliveries") == []
    assert len(hq.poll(limit=1000)) == 250  # no other cursor moves


def test_a_failed_message_is_tried_again(
    hq: Bus, reader: Bus, store: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """A message whose handler failed is handed out again before those after it."""
    hq.publish_many({"type": "x-job", "payload": n} for n in range(3))
    failures = iter([True, True])
    handler = Handler(lambda m: m["payload"] == 1 and next(failures, False))
    with caplog.at_level(logging.WARNING, "gitworker.bus"):
        run(reader, handler)
    assert handler.handed == [0, 1, 1, 1, 2]
    assert [record.args[0] for record in caplog.records if record.args] == [1, 2]
    assert rows(store, "deliveries") == []
    assert rows(store, "dead_letters") == []


def test_repeated_failure_makes_a_dead_letter(hq: Bus, reader: Bus, store: Database) -> None:
    """After its attempts a message is kept, its sender gets a notice, and the next one follows."""
    ids = hq.publish_many({"type": "x-job", "payload": n, "correlation_id": "t"} for n in range(3))
    handler = Handler(lambda m: m["payload"] == 1)
    run(reader, handler, attempts=3)
    assert handler.handed == [0, 1, 1, 1, 2]
    (letter,) = rows(store, "dead_letters")
    assert (letter["agent_id"], letter["message_id"], letter["payload"]) == (
        "orchestrator", ids[1], "1",
    )  # fmt: skip
    assert (letter["attempts"], letter["error"]) == (3, "ValueError: no to 1")
    notice = hq.poll()[-1]
    assert (notice["type"], notice["from"], notice["to"]) == ("x-dead-letter", "orchestrator", "hq")
    assert (notice["in_reply_to"], notice["correlation_id"]) == (ids[1], "t")
    assert notice["payload"] == {
        "agent": "orchestrator", "seq": 2, "type": "x-job", "attempts": 3,
        "error": "ValueError: no to 1",
    }  # fmt: skip
    assert rows(store, "deliveries") == []


def test_two_bad_handlers_do_not_loop_for_ever(hq: Bus, reader: Bus, store: Database) -> None:
    """A notice of a dead letter that becomes a dead letter itself causes no further notice."""
    hq.publish("x-job", to="orchestrator")
    run(reader, Handler(lambda _: True), attempts=1)
    run(hq, Handler(lambda _: True), attempts=1)
    assert [letter["type"] for letter in rows(store, "dead_letters")] == ["x-job", "x-dead-letter"]
    assert (hq.poll(), reader.poll()) == ([], [])


def test_attempts_are_counted_across_restarts(hq: Bus, reader: Bus, store: Database) -> None:
    """A loop that is stopped between two attempts continues the count when it is started again."""
    hq.publish("x-job", 1)
    for attempts in (1, 2):
        handler = Handler(lambda _: True)
        reader.process_loop(handler, stop=lambda handler=handler: bool(handler.handed))
        assert [row["attempts"] for row in rows(store, "deliveries")] == [attempts]
    handler = Handler(lambda _: True)
    run(reader, handler, attempts=3)
    assert handler.handed == [1]
    assert [letter["attempts"] for letter in rows(store, "dead_letters")] == [3]


def test_a_handler_that_kills_the_process(
    state: StatePaths, hq: Bus, reader: Bus, store: Database
) -> None:
    """A message whose handler kills the process is also given up after its attempts."""
    hq.publish("x-job", 1)
    statuses = [
        subprocess.run([sys.executable, "-c", CRASHING, state.root], check=False).returncode
        for _ in range(3)
    ]
    assert statuses == [7, 7, 0]
    (letter,) = rows(store, "dead_letters")
    assert letter["error"] == "the process ended while it was handled"


def test_back_pressure_does_not_count_as_a_failure(hq: Bus, reader: Bus, store: Database) -> None:
    """A handler that has to wait for a slow reader is called again and loses no attempt."""
    hq.publish("x-job", 1)
    handed: list[int] = []

    def handle(message: Message) -> None:
        handed.append(message["payload"])
        if len(handed) < 4:
            raise BackPressure("full", wait_ms=1)

    run(reader, handle, attempts=2)
    assert handed == [1] * 4
    assert rows(store, "dead_letters") == []
    assert rows(store, "deliveries") == []


def test_a_locked_database_stops_no_loop(hq: Bus, reader: Bus, store: Database) -> None:
    """While another program locks the database, handled messages wait for their acknowledgement."""
    hq.publish("x-job", 1)
    handed: list[int] = []
    lockers: list[subprocess.Popen[bytes]] = []
    reader.store.connection.set_busy_timeout(1)

    def handle(message: Message) -> None:
        handed.append(message["payload"])
        if not lockers:
            lockers.append(
                subprocess.Popen(
                    [sys.executable, "-c", LOCKING, reader.paths.database],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                )
            )  # fmt: skip
            assert lockers[0].stdout is not None
            assert lockers[0].stdout.readline() == b"locked\n"

    def stop() -> bool:
        if len(handed) < 1:
            return False
        lockers[0].communicate(b"")
        return not reader.poll()

    reader.process_loop(handle, stop=stop)
    assert handed == [1, 1]
    assert rows(store, "deliveries") == []


def test_an_error_that_is_not_text(hq: Bus, reader: Bus, store: Database) -> None:
    """An error message with bytes that are not text is kept as far as possible."""
    hq.publish("x-job", 1)

    def handle(message: Message) -> None:
        raise ValueError("\udcff")

    run(reader, handle, attempts=1)
    assert [letter["error"] for letter in rows(store, "dead_letters")] == ["ValueError: ?"]


def test_an_interrupt_does_not_count_as_a_failure(hq: Bus, reader: Bus, store: Database) -> None:
    """Ctrl-C in a handler ends the loop and does not count as an attempt."""
    hq.publish("x-job", 1)
    hq.publish("x-job", 2)

    def handle(message: Message) -> None:
        raise KeyboardInterrupt

    for _ in range(9):
        with pytest.raises(KeyboardInterrupt):
            run(reader, handle, attempts=2)
    handler = Handler(lambda _: False)
    run(reader, handler)
    assert handler.handed == [1, 2]

    def later(message: Message) -> None:
        if message["payload"] == 4:
            raise KeyboardInterrupt

    hq.publish("x-job", 3)
    hq.publish("x-job", 4)
    with pytest.raises(KeyboardInterrupt):
        run(reader, later)
    assert rows(store, "deliveries") == []
    assert [m["payload"] for m in reader.poll()] == [4]


def test_it_stops_between_two_messages(hq: Bus, reader: Bus) -> None:
    """A stopped loop leaves the rest of its batch for the next loop."""
    hq.publish_many({"type": "x-job", "payload": n} for n in range(3))
    stop = threading.Event()
    handler = Handler(lambda _: False)

    def handle(message: Message) -> None:
        handler(message)
        stop.set()

    reader.process_loop(handle, stop=stop)
    assert [m["payload"] for m in reader.poll()] == [1, 2]


def test_it_stops_while_it_waits(hq: Bus, reader: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that waits for the next attempt, or for messages, can be stopped."""
    monkeypatch.setattr("gitworker.bus.rules_message.BACKOFF_FIRST_MS", 60_000)
    hq.publish("x-job", 1)
    handler = Handler(lambda _: True)
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 6

    reader.process_loop(handler, stop=stop)
    assert handler.handed == [1]
    asked.clear()
    reader.ack(1)
    reader.process_loop(handler, stop=stop)
    assert handler.handed == [1]


def test_back_pressure_for_ever_is_a_failure(
    hq: Bus, reader: Bus, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A handler that has waited for a slow reader for minutes does lose its attempts."""
    monkeypatch.setattr("gitworker.bus.client.handle_messages.PRESSED_MAX_MS", 30)
    hq.publish("x-job", 1)
    hq.publish("x-job", 2)
    handed: list[int] = []

    def handle(message: Message) -> None:
        handed.append(message["payload"])
        if message["payload"] == 1:
            raise BackPressure("full", wait_ms=5)

    run(reader, handle, attempts=2)
    assert len(handed) > 3
    assert handed[-1] == 2
    (letter,) = rows(store, "dead_letters")
    assert (letter["attempts"], letter["error"]) == (2, "BackPressure: full")


def test_a_loop_sends_heartbeats(
    hq: Bus, reader: Bus, store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a handler works, its agent sends heartbeats and its cursor holds back a prune."""
    monkeypatch.setattr("gitworker.bus.client.loop_heartbeat.EVERY_S", 0.02)
    hq.publish("x-job", 1)

    def heartbeat_ms() -> int:
        (row,) = rows(store, "heartbeats")
        assert row["agent_id"] == "orchestrator"
        return int(row["ts_ms"])

    def handle(message: Message) -> None:
        first = heartbeat_ms()
        assert [row["last_acked_seq"] for row in rows(store, "cursors")] == [0]
        wait_until(lambda: heartbeat_ms() > first, "the next heartbeat")

    run(reader, handle, attempts=1)
    assert rows(store, "dead_letters") == []
    assert [thread.name for thread in threading.enumerate() if thread.name == "alive"] == []


def test_large_payloads_are_read_one_by_one(hq: Bus, reader: Bus) -> None:
    """A batch of large messages is not in memory at once: each is read only when it is handled."""
    hq.publish_many({"type": "x-big", "payload": [n, "z" * 300_000]} for n in range(3))
    errors: list[str | None] = []

    def handle(message: Message) -> None:
        errors.append(message["payload_error"])
        if len(errors) == 1:
            for row in reader.unread_rows(9)[1:]:
                os.unlink(f"{reader.paths.blobs}/{row.payload_ref}")

    run(reader, handle)
    assert errors == [None, "blob_missing", "blob_missing"]
