"""Following the bus: every message as it comes, without a cursor (seed 5).

Looks at the newest position by one indexed query, often while there is traffic, rarely while there
is none (seed 2's adaptive polling). Ends when the database goes.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gitworker import clock
from gitworker.bus.blobs import find_blob
from gitworker.paths import StatePaths
from gitworker.store.api import Reader, Row, Store

LOOK_FIRST_S = 0.05
LOOK_LAST_S = 0.25
SLOWER = 1.5
BATCH = 500


@dataclass(frozen=True, slots=True)
class Filter:
    """Which messages are wanted; None is all of them."""

    task: str | None = None
    type: str | None = None
    sender: str | None = None

    def wants(self, row: Row) -> bool:
        """Tell whether a message passes."""
        return (
            self.task in (None, row["correlation_id"])
            and self.type in (None, row["type"])
            and self.sender in (None, row["from_agent"])
        )


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing came: how long the follower may wait before it asks for more."""

    seconds: float


def follow(
    store: Store, paths: StatePaths, wanted: Filter, *, since: int | None
) -> Iterator[dict[str, Any] | Pause]:
    """Yield messages in order, and a Pause whenever there is none; end when the database goes.

    Begins after `since`, without it at now. Writes nothing.
    """
    identity = _identity(paths.database)
    with store.read() as reader:
        after = _newest(reader) if since is None else since
    wait_s = LOOK_FIRST_S
    while identity is not None and _identity(paths.database) == identity:
        with store.read() as reader:
            rows = reader.rows("messages.follow", after=after, limit=BATCH)
        for row in rows:
            after = row["seq"]
            if wanted.wants(row):
                yield message_fields(row, blobs=paths.blobs)
        if rows:
            wait_s = LOOK_FIRST_S
        else:
            yield Pause(wait_s)
            wait_s = min(wait_s * SLOWER, LOOK_LAST_S)


def message_fields(row: Row, *, blobs: str) -> dict[str, Any]:
    """Return a message in seed 2's shape, a large payload in place."""
    text, error = row["payload"], None
    if row["payload_ref"] is not None:
        text = find_blob(blobs, row["payload_ref"])
        error = "blob_missing" if text is None else None
    payload = None
    if text is not None:
        try:
            payload = json.loads(text)
        except ValueError:
            error = "decode_failed"
    return {
        "seq": row["seq"],
        "id": row["id"],
        "ts": clock.iso_utc(row["ts_ms"]),
        "from": row["from_agent"],
        "to": row["to_agent"],
        "type": row["type"],
        "correlation_id": row["correlation_id"],
        "in_reply_to": row["in_reply_to"],
        "payload": payload,
        "payload_ref": row["payload_ref"],
        "payload_error": error,
    }


def _newest(reader: Reader) -> int:
    row = reader.row("messages.last_seq")
    return int(row["seq"]) if row else 0


def _identity(path: str) -> tuple[int, int] | None:
    """Return what tells one database file from another at the same path; None for none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
