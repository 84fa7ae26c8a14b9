"""agent list and agent show, and the agents that may take a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.model.worker import WorkerState
from gitworker.observe.queue.agent_use import ShownAgent, shown_agents
from gitworker.observe.text import NOTHING, field_lines, listing
from gitworker.states.worker_machine import state_label
from gitworker.store.records.task_specs import find_task_spec
from gitworker.store.scheduling.agents import all_registered, slots_of
from gitworker.tasks.agents.places import read_places
from gitworker.tasks.agents.register import require_registered
from gitworker.tasks.agents.rules_places import TaskKind, find_elsewhere, find_lacking, may_take
from gitworker.tasks.agents.rules_registered import unfit_words
from gitworker.tasks.rules_task_list import Why

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.api import Reader

HEAD = ("AGENT", "TYPE", "STATE", "TASKS", "TOKENS", "CAPABILITIES")


def read_agents(session: Session) -> list[ShownAgent]:
    """Read every registered agent by name."""
    with session.store.read() as reader:
        return shown_agents(reader)


def read_agent(session: Session, name: str) -> ShownAgent:
    """Read one registered agent; raise NotFound for another name."""
    with session.store.read() as reader:
        found = require_registered(reader, name)
        return ShownAgent(found, tuple(slots_of(reader, name)))


def find_unfit(reader: Reader, task: str, machine: str | None) -> Why | None:
    """Return why none of the registered agents can take a task on this machine; None if one can.

    Without a registered agent only the capabilities of the machines decide.
    """
    agents, spec = all_registered(reader), find_task_spec(reader, task)
    if spec is None:
        return None
    kind, places = TaskKind(spec.agent, spec.capabilities), read_places(reader, machine)
    if not agents:
        return find_lacking(kind, None, places)
    if any(may_take(one, places.here, kind) for one in agents):
        return None
    unfit = Why(*unfit_words(required=spec.capabilities, wish=spec.agent))
    return find_elsewhere(kind, agents, places) or unfit


def render_agents(found: list[ShownAgent], *, width: int | None, color: bool) -> str:
    """Return a table for a terminal; without a width, bare rows separated by tabs for scripts."""
    pinned = any(one.agent.machine for one in found)
    rows = [
        (one.agent.name, one.agent.agent_type,
         one.agent.state if width is None else one.agent.state.lower(),
         f"{one.at_work}/{one.agent.tasks}", str(one.agent.total_tokens),
         ", ".join(one.agent.capabilities) or NOTHING,
         *([one.agent.machine or NOTHING] if pinned else []))
        for one in found
    ]  # fmt: skip
    head = (*HEAD, "MACHINE") if pinned else HEAD
    return listing(head, rows, width=width, color=color, empty="no agent is registered")


def render_agent(found: ShownAgent, *, width: int | None, color: bool) -> str:
    """Return one line for each field that has a value."""
    agent = found.agent
    later = "removed after its task" if agent.is_leaving else "paused" if agent.is_paused else ""
    lines = [
        ("agent", agent.name),
        ("type", agent.agent_type),
        ("state", f"{agent.state.lower()}{f' ({later})' if later else ''}"),
        ("tasks", f"{found.at_work} of {agent.tasks} at once"),
        ("command", " ".join(agent.command)),
        ("capability", ", ".join(agent.capabilities)),
        ("machine", agent.machine or ""),
        ("env", ", ".join(name for name, _ in agent.env)),
        ("tokens", f"{agent.total_tokens:,}, {agent.session_tokens:,} in the last session"),
        *(("worker", f"{one.worker}  {_label(one.state)}  {one.task or ''}".rstrip())
          for one in found.slots),
        ("created", clock.iso_utc(agent.created_at_ms)),
    ]  # fmt: skip
    return "\n".join(field_lines(lines))


def _label(state: str) -> str:
    return state_label(WorkerState(state))


def json_agents(found: list[ShownAgent]) -> dict[str, Any]:
    """Return the agents as JSON data."""
    return {"agents": [json_agent(one) for one in found]}


def json_agent(found: ShownAgent) -> dict[str, Any]:
    """Return one agent as JSON data; of its variables only the names."""
    agent = found.agent
    return {
        "agent": agent.name, "type": agent.agent_type, "state": agent.state,
        "max_concurrent_tasks": agent.tasks, "at_work": found.at_work,
        "paused": agent.is_paused, "leaving": agent.is_leaving, "command": list(agent.command),
        "capabilities": list(agent.capabilities), "machine": agent.machine,
        "env": [name for name, _ in agent.env],
        "task": agent.task, "total_tokens": agent.total_tokens,
        "session_tokens": agent.session_tokens, "created": clock.iso_utc(agent.created_at_ms),
        "slots": [
            {"worker": one.worker, "state": one.state, "task": one.task} for one in found.slots
        ],
    }  # fmt: skip
