"""Processes that a benchmark of the bus needs: `python -m benchmarks.bus_jobs VERB ARGUMENTS…`.

publish HOW STATE COUNT DELAY_MS PACE_MS   publish COUNT messages, one each PACE_MS (0: at once), on
                                           a disk whose syncs take DELAY_MS longer; print the
                                           milliseconds of each
follow STATE WAY                           print the id of each message as it comes
echo                                       print each line that comes: the time of a pipe alone
jobs STATE COUNT                           put COUNT messages one by one, take them as poll returns
                                           them; put again, take one by one; print the time of each

HOW is library (durable), unsynced, raw (apsw alone, synchronous=FULL) or raw-normal. Each job
prints `ready` and waits for a line before it begins.
"""

import itertools
import json
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import apsw

from gitworker.bus import open_bus
from gitworker.bus.consume import POLL_LIMIT
from gitworker.bus.following.follow_messages import MessageFilter, follow
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import open_database
from gitworker.store.sqlite.waking import open_waker

TYPE = "x-bench"
PAYLOAD = {"progress": 0.5, "step": "tests"}
INSERT = (
    "INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to,"
    " payload, payload_ref) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def raw_publisher(database: str, *, full: bool) -> Callable[[], None]:
    """Return a function that publishes one message by apsw alone: its JSON, one prepared insert."""
    connection = apsw.Connection(database)
    connection.set_busy_timeout(60_000)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}").fetchall()
    count = itertools.count()
    sender = f"raw-{os.getpid()}"

    def publish() -> None:
        now = time.time_ns()
        key = f"{now:020}-{os.getpid()}-{next(count)}"
        text = json.dumps(PAYLOAD)
        row = (key, now // 1_000_000, sender, None, TYPE, None, None, text, None)
        connection.execute(INSERT, row)

    return publish


def library_publisher(state: str, *, durable: bool) -> Callable[[], None]:
    """Return a function that publishes one message through the library."""
    bus = open_bus(state, agent=f"lib-{os.getpid()}")

    def publish() -> None:
        bus.publish(TYPE, PAYLOAD, durable=durable)

    return publish


def publisher(how: str, state: str) -> Callable[[], None]:
    """Return a function that publishes one message in one of the ways."""
    if how.startswith("raw"):
        return raw_publisher(f"{state}/bus.db", full=how == "raw")
    return library_publisher(state, durable=how == "library")


def slow_down(delay_s: float) -> None:
    """Make every sync take longer: SQLite's through a VFS, our own through os.fdatasync."""
    real = os.fdatasync

    def fdatasync(file: int) -> None:
        real(file)
        time.sleep(delay_s)

    class File(apsw.VFSFile):
        def xSync(self, flags: int) -> None:
            super().xSync(flags)
            time.sleep(delay_s)

    class Slow(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("slow", "unix", makedefault=True)

        def xOpen(self, name: Any, flags: list[int]) -> File:
            return File("unix", name, flags)

    os.fdatasync = fdatasync  # type: ignore[assignment]
    KEPT.append(Slow())


KEPT: list[object] = []  # a VFS lives as long as its object


def publish(how: str, state: str, count: str, *delay_and_pace_ms: str) -> None:
    """Publish and print the time of each message."""
    delay_s, pace_s = (float(ms) / 1000 for ms in delay_and_pace_ms)
    if delay_s:
        slow_down(delay_s)
    one, took = publisher(how, state), []
    begin()
    due = time.perf_counter() + random.uniform(0, pace_s)
    for _ in range(int(count)):
        time.sleep(max(0.0, due - time.perf_counter()))
        started = time.perf_counter()
        one()
        took.append((time.perf_counter() - started) * 1000)
        due += pace_s
    print(json.dumps(took))


def follow_bus(state: str, way: str) -> None:
    """Print ids as messages come, with one kind of waker only."""
    paths = StatePaths(state)
    store = open_database(paths.database)
    with open_waker(store, paths, ways=(way,)) as waker:
        messages = follow(store, paths, MessageFilter(), since=None, waker=waker)
        begin(wait=False)
        for message in messages:
            if message is not None:
                os.write(1, f"{message['id']}\n".encode())


def echo() -> None:
    """Print each line that comes."""
    begin(wait=False)
    while line := sys.stdin.readline():
        os.write(1, line.encode())


def jobs(state: str, count: str) -> None:
    """Put messages one by one, then take and acknowledge them: by the hundred, and one by one."""
    took = []
    with open_bus(state, agent="hq") as bus:
        begin()
        for limit in (POLL_LIMIT, 1):
            started = time.perf_counter()
            for _ in range(int(count)):
                bus.publish(TYPE, PAYLOAD, durable=False)
            put = time.perf_counter()
            while messages := bus.poll(limit):
                bus.ack(messages[-1]["seq"])
            took += [(put - started) * 1000, (time.perf_counter() - put) * 1000]
    print(json.dumps(took))


def begin(*, wait: bool = True) -> None:
    """Print that everything is loaded, and wait for the signal to begin."""
    os.write(1, b"ready\n")
    if wait:
        sys.stdin.readline()


VERBS: dict[str, Callable[..., None]] = {
    "echo": echo,
    "follow": follow_bus,
    "jobs": jobs,
    "publish": publish,
}

if __name__ == "__main__":
    VERBS[sys.argv[1]](*sys.argv[2:])
