"""Signs of life as they are read: one look at the clocks, a stored beat, a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.liveness.process import is_running
from gitworker.liveness.rules import Beat, Moment

if TYPE_CHECKING:
    from gitworker.store.api import Row
    from gitworker.store.workers import Worker


def read_moment() -> Moment:
    """Read the clocks once."""
    return Moment(clock.now_ms(), clock.monotonic_ms(), clock.boot_id(), clock.host_name())


def beat_of(row: Row, ts_ms: int | None) -> Beat | None:
    """Return the beat in a row that has a beat's clock columns; None where there was no beat."""
    if ts_ms is None:
        return None
    return Beat(ts_ms, row["mono_ms"], row["boot_id"], row["host"])


def process_runs(worker: Worker, moment: Moment) -> bool | None:
    """Tell whether a seat's process runs; None for another host and where there is no pid."""
    if worker.pid is None or worker.host != moment.host:
        return None
    if worker.boot_id != moment.boot_id:
        return False
    return is_running(worker.pid, worker.pid_start)
