"""The agents as rows: those that are alive, and those that are registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.observe.text import age_text
from gitworker.tui.rows.row import BAD, BOLD, DIM, GOOD, NOTED, Part, row, title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitworker.observe.agents import AgentLine, AgentList
    from gitworker.observe.queue.agent_use import ShownAgent
    from gitworker.tui.rows.row import Row

INDENT = " " * 4
LIVE = {"ok": GOOD, "warn": NOTED, "stale": BAD, "dead": BAD}


class AliveKey(NamedTuple):
    """The key of an agent that is alive; `worker` is None for another program on the bus."""

    agent: str
    worker: str | None
    has_run: bool
    is_paused: bool

    @property
    def identity(self) -> str:
        """Return the agent, whose state changes."""
        return self.agent


class RegisteredKey(NamedTuple):
    """The key of a registered agent."""

    agent: str
    is_paused: bool

    @property
    def identity(self) -> str:
        """Return the agent, whose state changes."""
        return self.agent


def agent_rows(found: AgentList, registered: Sequence[ShownAgent]) -> list[Row]:
    """Return both lists."""
    rows = [title("At work")]
    rows += [part for one in found.agents for part in _alive(one)]
    if not found.agents:
        rows.append(row(Part("  No agent is alive.", DIM)))
    rows += [row(), title("Registered")]
    rows += [part for one in registered for part in _registered(one)]
    if not registered:
        rows.append(row(Part("  No agent is registered: git worker agent add -h", DIM)))
    return rows


def _alive(one: AgentLine) -> Iterator[Row]:
    live = one.liveness.value.lower()
    facts = [one.doing, one.task or ""]
    facts += [f"{one.progress:.0%}"] if one.progress is not None else []
    facts += [f"heartbeat {age_text(one.beat_age_ms)} ago"] if one.beat_age_ms is not None else []
    facts += [f"process {one.pid}"] if one.pid else []
    facts += [one.host or ""]
    worker = one.agent if one.state is not None else None
    key = AliveKey(one.agent, worker, one.run is not None, one.paused_at_ms is not None)
    yield row(
        "  ", Part(one.agent, BOLD), " ", Part(live, LIVE.get(live, "")),
        Part("  paused" if key.is_paused else "", NOTED),
        f"  {', '.join(filter(None, facts))}", key=key,
    )  # fmt: skip
    if one.command:
        yield row(INDENT, Part(one.command, DIM))
    if one.task and key.has_run:
        yield row(INDENT, Part(f"git worker attach {one.task}", DIM))


def _registered(one: ShownAgent) -> Iterator[Row]:
    agent = one.agent
    facts = f"{agent.agent_type}, {one.at_work} of {agent.tasks} at work"
    facts += f", {one.fitness}" if one.fitness else ""
    yield row(
        "  ", Part(agent.name, BOLD), f" {agent.state.lower()}  {facts}",
        Part(f", {agent.total_tokens:,} tokens", DIM),
        key=RegisteredKey(agent.name, agent.is_paused),
    )  # fmt: skip
