"""Signs of life as they are read from the rows of a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.liveness.rules import Beat

if TYPE_CHECKING:
    from gitworker.store.api import Row


def beat_of(row: Row, ts_ms: int | None) -> Beat | None:
    """Return the beat in a row that has a beat's clock columns; None where there was no beat."""
    if ts_ms is None:
        return None
    return Beat(ts_ms, row["mono_ms"], row["boot_id"], row["host"])
