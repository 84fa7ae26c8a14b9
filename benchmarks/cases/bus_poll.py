"""The time of a poll in a bus of five million messages, against one of ten thousand."""

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw

from benchmarks.bus_scene import new_bus
from benchmarks.measure import time_call
from benchmarks.results import Result
from benchmarks.scene import Scene
from gitworker.store.messages.mailbox import move_cursor, unread_messages
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import open_database

FEW, MANY = 10_000, 5_000_000
LIMIT = 100
CALLS = 200
# Half of all to a busy agent, one in a thousand to a quiet one, a tenth to all, the rest to others.
FILL = """
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count)
INSERT INTO messages (id, ts_ms, from_agent, to_agent, type, payload)
SELECT printf('%020d', n), 1700000000000 + n, 'sender-' || (n % 50),
    CASE WHEN n % 1000 = 1 THEN 'quiet' WHEN n % 2 = 0 THEN 'busy' WHEN n % 10 = 5 THEN NULL
        ELSE 'other-' || (n % 40) END,
    'x-bench', '{"progress":0.5}'
FROM numbers
"""
SEED2 = (
    "SELECT seq, id, ts_ms, from_agent, to_agent, type, correlation_id, in_reply_to, payload,"
    " payload_ref FROM messages WHERE (to_agent IS NULL OR to_agent = ?) AND seq > ?"
    " ORDER BY seq LIMIT ?"
)


def measure_poll(scene: Scene) -> Iterator[Result]:
    """Measure our query and the plain one for a busy, a quiet and an unknown agent."""
    places = {count: filled(scene.folder / str(count), count) for count in (FEW, MANY)}
    worst, worst_of_plain, notes = 0.0, 0.0, []
    for agent in ("busy", "quiet", "unknown"):
        for part in (0.0, 0.5, 1.0):
            ours = [_poll(places[count], agent, int(count * part)) for count in (FEW, MANY)]
            theirs = [_plain(places[count], agent, int(count * part)) for count in (FEW, MANY)]
            worst = max(worst, ours[1] / ours[0])
            worst_of_plain = max(worst_of_plain, theirs[1] / theirs[0])
            notes.append(
                f"{agent} from {part:.0%}: {ours[0]:.3f} → {ours[1]:.3f} ms"
                f" (plain: {theirs[0]:.3f} → {theirs[1]:.3f})"
            )
    yield Result(
        f"poll of {LIMIT} among {MANY:,} messages against {FEW:,}, the worst of nine agents",
        "≤ 3 ×",
        worst <= 3,
        f"{worst:.2f} ×",
        f"{worst:.2f} ×",
        f"{worst_of_plain:.0f} ×",
        "messages.unread (two indexed ranges, merged)",
        "plain query (to_agent IS NULL OR to_agent = ?)",
        note="; ".join(notes),
    )
    for place in places.values():
        place.close()


def filled(folder: Path, count: int) -> Database:
    """Make a bus with so many messages by one statement, and open it."""
    state = new_bus(folder)
    connection = apsw.Connection(f"{state}/bus.db")
    connection.execute("PRAGMA synchronous = OFF").fetchall()
    connection.execute(FILL, {"count": count})
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    return open_database(f"{state}/bus.db")


def _poll(store: Database, agent: str, after: int) -> float:
    with store.write(durable=False) as writer:
        move_cursor(writer, agent, after, now=0)

    def call() -> None:
        with store.read() as reader:
            unread_messages(reader, agent, limit=LIMIT)

    return _median(call)


def _plain(store: Database, agent: str, after: int) -> float:
    return _median(
        lambda: store.connection.execute(SEED2, (agent, after, LIMIT)).fetchall(), CALLS // 10
    )


def _median(call: Callable[[], object], calls: int = CALLS) -> float:
    call()
    return statistics.median(time_call(call) for _ in range(calls))
