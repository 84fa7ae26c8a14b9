"""agents: which agents are alive, with activity, progress and age."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.liveness.life_lock import is_life_locked
from gitworker.liveness.process_origin import is_local
from gitworker.liveness.readings import this_moment
from gitworker.liveness.rules_stale import (
    ClockReading,
    Heartbeat,
    Liveness,
    heartbeat_age_ms,
    liveness_of,
)
from gitworker.model.worker import WorkerState
from gitworker.observe.rules_agents import doing, shown_liveness, shows
from gitworker.observe.text import NOTHING, age_text, table
from gitworker.observe.workers.status_text import LIVENESS_COLORS
from gitworker.processes.table import is_running
from gitworker.store.messages.agents import StoredAgent, all_agents

if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.session import Session

HEAD = ("AGENT", "LIVE", "BEAT", "DOING", "TASK", "DONE", "SINCE", "PID", "HOST", "COMMAND")


class AgentLine(NamedTuple):
    """One agent; unknown values are None. `run` is its supervised run that has not ended."""

    agent: str
    liveness: Liveness
    beat_age_ms: int | None  # the field names are those of the JSON
    beat_ms: int | None
    doing: str
    task: str | None
    progress: float | None
    state: WorkerState | None
    since_ms: int | None
    pid: int | None
    runs: bool | None
    host: str | None
    run: int | None
    command: str | None
    paused_at_ms: int | None


class AgentList(NamedTuple):
    """Agents by name, at one moment."""

    now_ms: int
    agents: tuple[AgentLine, ...]


def read_agents(session: Session, *, include_all: bool = False) -> AgentList:
    """Read the agents that are alive or should be, foreign programs included; or all agents."""
    moment = this_moment()
    with session.store.read() as reader:
        rows = all_agents(reader)
    found = [_agent(row, moment, session) for row in rows]
    return AgentList(
        moment.now_ms,
        tuple(
            one
            for one in found
            if include_all or shows(one.state, one.liveness, runs=one.runs, age_ms=one.beat_age_ms)
        ),
    )


def render_agents(found: AgentList, *, width: int | None, color: bool) -> str:
    """Return the agents as a table."""
    if not found.agents:
        return "no agent is alive: git worker exec <worker> -- <command>"
    rows = [_cells(one, found.now_ms) for one in found.agents]
    colors = {1: LIVENESS_COLORS}
    return "\n".join(table(HEAD, rows, width=width, colors=colors, color=color))


def json_agents(found: AgentList) -> dict[str, Any]:
    """Return the agents as JSON data; ages and times are milliseconds."""
    return {"agents": [one._asdict() for one in found.agents]}


def _agent(row: StoredAgent, moment: ClockReading, session: Session) -> AgentLine:
    age_ms = None
    if row.beat_ms is not None:
        heartbeat = Heartbeat(row.beat_ms, row.mono_ms, row.boot_id, row.host)
        age_ms = heartbeat_age_ms(heartbeat, moment)
    runs = _runs(row, moment, session.paths)
    return AgentLine(
        agent=row.agent_id,
        liveness=shown_liveness(row.state, liveness_of(age_ms, session.settings)),
        beat_age_ms=age_ms,
        beat_ms=row.beat_ms,
        doing=doing(row.state, row.status, is_paused=row.paused_at_ms is not None, runs=runs),
        task=row.task,
        progress=row.progress,
        state=row.state,
        since_ms=row.since_ms,
        pid=row.pid,
        runs=runs,
        host=row.seat_host or row.host,
        run=row.run,
        command=row.command,
        paused_at_ms=row.paused_at_ms,
    )


def _runs(row: StoredAgent, moment: ClockReading, paths: StatePaths) -> bool | None:
    if row.pid is None:
        return None
    if is_local((row.seat_host, row.seat_boot_id, row.seat_pid_ns), moment.origin):
        return is_running(row.pid, row.pid_start)
    return True if is_life_locked(paths, row.agent_id) else None


def _cells(one: AgentLine, now_ms: int) -> tuple[str, ...]:
    return (
        one.agent,
        one.liveness.value,
        age_text(one.beat_age_ms),
        one.doing,
        one.task or NOTHING,
        NOTHING if one.progress is None else f"{one.progress:.0%}",
        age_text(None if one.since_ms is None else max(0, now_ms - one.since_ms)),
        NOTHING if one.pid is None else str(one.pid),
        one.host or NOTHING,
        one.command or NOTHING,
    )
