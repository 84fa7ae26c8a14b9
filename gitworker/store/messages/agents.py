"""Agents as stored: heartbeat, worker and open run of each."""

from typing import NamedTuple

from gitworker.model.worker import WorkerState
from gitworker.store.api import Reader


class StoredAgent(NamedTuple):
    """One agent; `host` is the host of its heartbeat, `seat_*` the origin of its process."""

    agent_id: str
    beat_ms: int | None
    status: str | None
    mono_ms: int | None
    boot_id: str | None
    host: str | None
    task: str | None
    progress: float | None
    state: WorkerState | None
    pid: int | None
    pid_start: str | None
    seat_host: str | None
    seat_boot_id: str | None
    seat_pid_ns: str | None
    run: int | None
    command: str | None
    paused_at_ms: int | None
    since_ms: int | None


def all_agents(reader: Reader) -> list[StoredAgent]:
    """Return the agents with a heartbeat or a task, by name."""
    agents = [StoredAgent(**row) for row in reader.rows("observe.agents")]
    return [one._replace(state=WorkerState(one.state)) if one.state else one for one in agents]
