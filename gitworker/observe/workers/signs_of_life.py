"""Heartbeats built from the rows of a view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.liveness.rules import Heartbeat

if TYPE_CHECKING:
    from gitworker.store.api import Row


def heartbeat_of(row: Row, ts_ms: int | None) -> Heartbeat | None:
    """Return the heartbeat in a row with a heartbeat's clock columns; None without one."""
    if ts_ms is None:
        return None
    return Heartbeat(ts_ms, row["mono_ms"], row["boot_id"], row["host"])
