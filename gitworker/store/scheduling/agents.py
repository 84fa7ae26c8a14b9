"""Registered agents as stored: programs that take tasks in workers of their own, their slots.

A removed agent keeps its row; the name is free again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.store.api import Reader, Row, Writer


class RegisteredAgent(NamedTuple):
    """A registered agent; `command` are its program's words or options, `tasks` those at once.

    `is_paused`: a person has paused it; `is_leaving`: it is removed after its task. `machine` is
    the only one of the fleet on which it runs (None: on all).
    """

    id: str
    name: str
    agent_type: str
    state: str = "INITIALIZING"
    version: int = 0
    tasks: int = 1
    task: str | None = None
    command: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    is_paused: bool = False
    is_leaving: bool = False
    total_tokens: int = 0
    session_tokens: int = 0
    created_at_ms: int = 0
    machine: str | None = None


class SlotRow(NamedTuple):
    """A worker of an agent with its task; `status` is that of a task that it still holds."""

    worker: str
    state: str
    stale_from: str | None
    waits_for_author: bool
    task: str | None
    worktree: str | None
    status: str | None


def agent_of_worker(worker: str) -> str:
    """Return the name of the agent of which a worker is a numbered slot, else the worker's id."""
    name, dash, number = worker.rpartition("-")
    return name if dash and name and number.isascii() and number.isdigit() else worker


def find_agent_of_worker(reader: Reader, worker: str) -> RegisteredAgent | None:
    """Return the registered agent that a worker is, or is a slot of; None without one."""
    rows = reader.rows("agents.of_names", one=worker, other=agent_of_worker(worker))
    found = {row["name"]: row for row in rows}
    row = found.get(worker) or next(iter(found.values()), None)
    return None if row is None else _agent(row)


def find_registered(reader: Reader, name: str) -> RegisteredAgent | None:
    """Return the registered agent with this name, or None."""
    row = reader.row("agents.of_names", one=name, other=name)
    return None if row is None else _agent(row)


def all_registered(reader: Reader) -> list[RegisteredAgent]:
    """Return every registered agent by name."""
    return [_agent(row) for row in reader.rows("agents.all")]


def slots_of(reader: Reader, agent: str) -> list[SlotRow]:
    """Return the workers of an agent: that of its name, and the numbered ones."""
    rows = [SlotRow(*row.values()) for row in reader.rows("agents.slots", name=agent)]
    return [one for one in rows if agent in (one.worker, agent_of_worker(one.worker))]


def insert_registered(writer: Writer, agent: RegisteredAgent, now: int) -> str:
    """Insert an agent and return its id: its name, with a number if a removed one had the name."""
    row = writer.row("agents.count_of_name", name=agent.name)
    number = int(row["number"]) if row else 0
    key = f"{agent.name}#{number + 1}" if number else agent.name
    writer.run(
        "agents.insert",
        id=key, name=agent.name, agent_type=agent.agent_type, tasks=agent.tasks,
        command=json.dumps(agent.command), capabilities=json.dumps(agent.capabilities),
        env=json.dumps(dict(agent.env)), machine=agent.machine, now=now,
    )  # fmt: skip
    return key


def set_agent_flags(writer: Writer, agent: RegisteredAgent) -> None:
    """Record whether a person has paused or removed an agent."""
    writer.run(
        "agents.set_flags",
        id=agent.id, is_paused=int(agent.is_paused), is_leaving=int(agent.is_leaving),
    )  # fmt: skip


def set_agent_task(writer: Writer, agent: str, task: str | None, path: str | None) -> None:
    """Record the task of an agent, and its worktree."""
    writer.run("agents.set_task", id=agent, task=task, path=path)


def charge_agent(writer: Writer, agent: str, tokens: int) -> None:
    """Add the tokens of a run to those of an agent."""
    writer.run("agents.charge", id=agent, tokens=tokens)


def _agent(row: Row) -> RegisteredAgent:
    values = list(row.values())
    agent = RegisteredAgent(*values)
    env: Mapping[str, str] = json.loads(row["env"])
    return agent._replace(
        command=tuple(json.loads(row["command"])), env=tuple(env.items()),
        capabilities=tuple(json.loads(row["capabilities"])), is_paused=bool(agent.is_paused),
        is_leaving=bool(agent.is_leaving),
    )  # fmt: skip
