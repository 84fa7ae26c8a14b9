"""The heartbeat thread: it reports independently of other threads, until it is stopped."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitworker.errors import Conflict, GitWorkerError, Unavailable
from gitworker.liveness.heartbeat_thread import HeartbeatThread, Remove, Report
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import create_database, open_database
from tests.store.support import wait_until

OFTEN_S = 0.01
HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print("ready", flush=True)
sys.stdin.readline()
"""


class Recorder:
    """Records a thread's heartbeats and complaints."""

    def __init__(self, path: Path, *, busy_timeout_ms: int = 5000) -> None:
        self.path = str(path)
        self.busy_timeout_ms = busy_timeout_ms
        self.threads: set[int] = set()
        self.times: list[dict[str, int]] = []
        self.errors: list[Exception] = []

    def open(self) -> Database:
        """Open the store in the calling thread."""
        self.threads.add(threading.get_ident())
        store = open_database(self.path)
        store.connection.set_busy_timeout(self.busy_timeout_ms)
        return store

    def heartbeats_of(self, agent: str) -> int:
        """Return the number of an agent's heartbeats."""
        return sum(agent in times for times in self.times)

    def thread(self, every_s: float = OFTEN_S) -> HeartbeatThread:
        """Return a thread that reports to this recorder."""
        return HeartbeatThread(
            self.open, every_s=every_s, on_heartbeat=self.times.append, on_error=self.errors.append
        )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a fresh bus."""
    create_database(str(tmp_path / "bus.db")).close()
    return tmp_path / "bus.db"


@pytest.fixture
def store(path: Path) -> Iterator[Database]:
    """The same bus, open in this thread."""
    database = open_database(str(path))
    yield database
    database.close()


def row(store: Database, agent: str) -> Any:
    """Return an agent's heartbeat."""
    return store.row("liveness.of_agent", agent=agent)


def test_it_obeys_at_once(path: Path, store: Database) -> None:
    """A command takes effect at once, not at the next heartbeat; heartbeats continue after it."""
    heard = Recorder(path)
    thread = heard.thread(every_s=3600)
    thread.start()
    thread.put(Report("auth", status="working", task="t", progress=0.5))
    wait_until(lambda: row(store, "auth") is not None, "the first heartbeat")
    thread.put(Report("auth", status="blocked", task="t"))
    wait_until(lambda: row(store, "auth")["status"] == "blocked", "the change")
    assert row(store, "auth")["progress"] is None
    thread.stop()
    assert not thread.is_alive
    assert heard.errors == []


def test_it_has_its_own_connection(path: Path, store: Database) -> None:
    """The store is opened once, in the thread itself."""
    heard = Recorder(path)
    thread = heard.thread()
    thread.start()
    thread.put(Report("auth"))
    wait_until(lambda: heard.heartbeats_of("auth") > 3, "several heartbeats")
    thread.stop()
    assert len(heard.threads) == 1
    assert threading.get_ident() not in heard.threads


def test_it_serves_several_agents_and_forgets(path: Path, store: Database) -> None:
    """One thread sends heartbeats for several agents, for each until it is removed."""
    heard = Recorder(path)
    thread = heard.thread()
    thread.start()
    thread.put(Report("auth"))
    thread.put(Report("docs", task="t2"))
    wait_until(lambda: {"auth", "docs"} in [set(times) for times in heard.times], "both")
    thread.put(Remove("auth"))
    thread.put(Remove("unknown"))
    wait_until(lambda: [set(times) for times in heard.times][-3:] == [{"docs"}] * 3, "docs alone")
    thread.stop()
    assert row(store, "docs")["current_task"] == "t2"


def test_commands_for_one_starve_no_other(path: Path, store: Database) -> None:
    """An agent that reports all the time does not delay the heartbeats of the others."""
    heard = Recorder(path)
    thread = heard.thread()
    thread.start()
    thread.put(Report("quiet"))
    wait_until(lambda: heard.heartbeats_of("quiet") > 0, "the first heartbeat")
    before = heard.heartbeats_of("quiet")

    def report() -> bool:
        thread.put(Report("busy", status="working", progress=0.1))
        return heard.heartbeats_of("quiet") > before + 3

    wait_until(report, "heartbeats of the quiet one")
    thread.stop()


def test_a_renewal_keeps_the_last_report(path: Path, store: Database) -> None:
    """A heartbeat without a status keeps the status and progress of the agent's own report."""
    with store.write(durable=False) as writer:
        writer.run("liveness.beat", agent="auth", now=1, status="blocked", task="t", progress=0.2)
    heard = Recorder(path)
    thread = heard.thread()
    thread.start()
    thread.put(Report("auth", task="t"))
    wait_until(lambda: row(store, "auth")["ts_ms"] > 1, "a heartbeat")
    thread.stop()
    assert (row(store, "auth")["status"], row(store, "auth")["progress"]) == ("blocked", 0.2)


def test_a_busy_database_costs_only_heartbeats(path: Path) -> None:
    """While a foreign program locks the database heartbeats fail with an error; later ones work."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert holder.stdout is not None
    assert holder.stdout.readline() == "ready\n"
    heard = Recorder(path, busy_timeout_ms=1)
    thread = heard.thread()
    thread.start()
    thread.put(Report("auth"))
    wait_until(lambda: len(heard.errors) > 1, "failing heartbeats")
    assert {type(error) for error in heard.errors} == {Conflict}
    holder.communicate("\n")
    wait_until(lambda: heard.heartbeats_of("auth") > 0, "a later heartbeat")
    thread.stop()


def test_a_missing_database_costs_only_heartbeats(tmp_path: Path) -> None:
    """A missing database is tried again with every heartbeat; a listener is optional."""
    heard = Recorder(tmp_path / "bus.db")
    thread = heard.thread()
    deaf = HeartbeatThread(heard.open, every_s=OFTEN_S)
    for one in (thread, deaf):
        one.start()
        one.put(Report("auth"))
    wait_until(lambda: len(heard.errors) > 1, "errors")
    assert isinstance(heard.errors[0], Unavailable)
    create_database(str(tmp_path / "bus.db")).close()
    wait_until(lambda: heard.heartbeats_of("auth") > 1, "a heartbeat")
    assert deaf.is_alive
    for one in (thread, deaf):
        one.stop()


def test_it_stops_before_its_first_heartbeat(path: Path) -> None:
    """A thread without an agent opens no store and stops at once."""
    heard = Recorder(path)
    thread = heard.thread(every_s=3600)
    thread.start()
    thread.stop()
    assert not thread.is_alive
    assert (heard.threads, heard.times) == (set(), [])


def test_a_listener_may_fail(path: Path, store: Database) -> None:
    """A full disk under the state files costs no heartbeat."""
    heard = Recorder(path)
    failed: list[GitWorkerError | OSError] = []

    def fail(times: dict[str, int]) -> None:
        heard.times.append(times)
        raise OSError(28, "No space left on device")

    thread = HeartbeatThread(heard.open, every_s=OFTEN_S, on_heartbeat=fail, on_error=failed.append)
    thread.start()
    thread.put(Report("auth"))
    wait_until(lambda: heard.heartbeats_of("auth") > 2, "heartbeats")
    assert len(failed) > 1
    thread.stop()
