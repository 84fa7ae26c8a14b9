"""Heartbeats as stored: one row per agent, with its clock readings.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

from gitworker import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.store.api import Writer

STATUSES = ("idle", "working", "blocked")


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
