"""msg stats: size of the bus, position of each agent, slow agents, dead letters."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.bus.limits.back_pressure import slow_consumers
from gitworker.bus.rules_message import is_slow
from gitworker.observe.text import NOTHING, YELLOW, age_text, one_line, table
from gitworker.rules_text import count_text, size_text
from gitworker.store.messages.deliveries import (
    StoredReader,
    all_readers,
    bus_totals,
    dead_letter_counts,
    newest_dead_letters,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.session import Session

HEAD = ("AGENT", "CURSOR", "UNREAD", "OLDEST", "DEAD", "")
SLOW = "slow"
DEAD_SHOWN = 10
COUNT_TO = 100_000  # upper bound for counts of unread messages; an exact count would take too long


class ReadPosition(NamedTuple):
    """How far one agent has read; `oldest_age_ms` is the age of its oldest unread message.

    `unread` is exact up to 100,000.
    """

    agent: str
    cursor: int
    unread: int
    oldest_age_ms: int | None
    dead_letters: int
    is_slow: bool


class DeadLetter(NamedTuple):
    """A message that an agent's handler failed on until its last attempt."""

    agent: str
    seq: int
    id: str
    sender: str
    type: str
    attempts: int
    error: str
    age_ms: int


class BusStats(NamedTuple):
    """The bus at one moment; sizes in bytes."""

    messages: int
    last_seq: int
    oldest_age_ms: int | None
    database_bytes: int
    blobs: int
    blob_bytes: int
    readings: tuple[ReadPosition, ...]
    dead_letters: tuple[DeadLetter, ...]


def read_stats(session: Session) -> BusStats:
    """Read the statistics in one snapshot, and the sizes of the files."""
    now = clock.now_ms()
    with session.store.read() as reader:
        totals = bus_totals(reader)
        readers = all_readers(reader, count_to=COUNT_TO)
        dead = dead_letter_counts(reader)
        letters = newest_dead_letters(reader, DEAD_SHOWN)
        slow = dict(slow_consumers(reader, max_unread=session.settings.message_max_unread))
    blobs, blob_bytes = _blobs(session.paths.blobs)
    database = session.paths.database
    return BusStats(
        messages=totals.messages,
        last_seq=totals.last_seq,
        oldest_age_ms=_age(now, totals.first_ts_ms),
        database_bytes=_size(database) + _size(f"{database}-wal"),
        blobs=blobs,
        blob_bytes=blob_bytes,
        readings=tuple(_reading(one, now, dead.get(one.agent_id, 0), slow) for one in readers),
        dead_letters=tuple(
            DeadLetter(
                one.agent_id, one.seq, one.message_id, one.from_agent, one.type,
                one.attempts, one.error, max(0, now - one.dead_at_ms),
            )
            for one in letters
        ),
    )  # fmt: skip


def _reading(
    one: StoredReader, now: int, dead_letters: int, slow: Mapping[str, int]
) -> ReadPosition:
    """Return the position of an agent; it is slow if back pressure counts it or if it lags."""
    cursor, unread = one.last_acked_seq, one.unread
    age_ms = _age(now, one.oldest_ts_ms)
    lags = (
        one.has_read and cursor > 0 and is_slow(unread, age_ms)
    )  # an agent that never reads does not lag
    return ReadPosition(
        one.agent_id, cursor, unread, age_ms, dead_letters, lags or one.agent_id in slow
    )


def render_stats(stats: BusStats, *, width: int | None, color: bool) -> str:
    """Return the statistics as text: totals, one row for each agent, the newest dead letters."""
    lines = [
        f"{count_text(stats.messages, 'message')}, the oldest {age_text(stats.oldest_age_ms)} ago",
        f"{size_text(stats.database_bytes)} database, {count_text(stats.blobs, 'blob')} with"
        f" {size_text(stats.blob_bytes)}",
    ]
    rows = [
        (
            one_line(one.agent), str(one.cursor), str(one.unread), age_text(one.oldest_age_ms),
            str(one.dead_letters or NOTHING), SLOW if one.is_slow else "",
        )
        for one in stats.readings
    ]  # fmt: skip
    if rows:
        colors = {5: {SLOW: YELLOW}}
        lines += ["", *table(HEAD, rows, width=width, colors=colors, color=color)]
    if stats.dead_letters:
        lines += ["", "dead letters, newest first"]
        lines += [
            one_line(
                f"  {one.seq} {one.type} from {one.sender}: {one.agent} failed"
                f" {one.attempts} times, {age_text(one.age_ms)} ago: {one.error}"
            )
            for one in stats.dead_letters
        ]
    return "\n".join(lines)


def json_stats(stats: BusStats) -> dict[str, Any]:
    """Return the statistics as JSON data."""
    return {
        **stats._asdict(),
        "readings": [one._asdict() for one in stats.readings],
        "dead_letters": [one._asdict() for one in stats.dead_letters],
    }


def _age(now: int, ts_ms: int | None) -> int | None:
    return None if ts_ms is None else max(0, now - ts_ms)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _blobs(directory: str) -> tuple[int, int]:
    sizes = []
    with suppress(OSError):
        sizes = [_size(entry.path) for entry in os.scandir(directory) if entry.name[0] != "."]
    return len(sizes), sum(sizes)
