"""Heartbeats as stored: one row per agent, with its clock readings.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

from gitworker import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.store.api import Reader, Row, Writer

STATUSES = ("idle", "working", "blocked")


class StoredHeartbeat:
    """The last heartbeat of an agent; `mono_ms` is None if a foreign program wrote it."""

    __slots__ = (
        "agent_id", "boot_id", "current_task", "host", "mono_ms", "progress", "status", "ts_ms",
    )  # fmt: skip
    agent_id: str
    ts_ms: int
    status: str
    current_task: str | None
    progress: float | None
    mono_ms: int | None
    boot_id: str | None
    host: str | None

    def __init__(self, row: Row) -> None:
        for name in self.__slots__:
            setattr(self, name, row[name])


def find_heartbeat(reader: Reader, agent: str) -> StoredHeartbeat | None:
    """Return the last heartbeat of an agent, or None."""
    row = reader.row("liveness.of_agent", agent=agent)
    return None if row is None else StoredHeartbeat(row)


def all_heartbeats(reader: Reader) -> list[StoredHeartbeat]:
    """Return the last heartbeat of every agent."""
    return [StoredHeartbeat(row) for row in reader.rows("liveness.all")]


def record_heartbeat(
    writer: Writer, agent: str, *, status: str, task: str | None, progress: float | None
) -> int:
    """Record a heartbeat with status, task and progress; return its time."""
    now = clock.now_ms()
    writer.run("liveness.beat", agent=agent, now=now, status=status, task=task, progress=progress)
    _stamp(writer, agent, now)
    return now


def renew_heartbeat(writer: Writer, agent: str, *, task: str | None) -> int:
    """Record a heartbeat that keeps the last status and progress; return its time."""
    now = clock.now_ms()
    writer.run("liveness.touch", agent=agent, now=now, status="working", task=task)
    _stamp(writer, agent, now)
    return now


def _stamp(writer: Writer, agent: str, now: int) -> None:
    writer.run(
        "liveness.beat_clock",
        agent=agent,
        now=now,
        mono_ms=clock.monotonic_ms(),
        boot_id=clock.boot_id(),
        host=clock.host_name(),
    )
