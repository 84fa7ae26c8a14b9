"""Fire the events of a registered agent after a change of one of its workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.store.scheduling.agents import find_agent_of_worker, set_agent_task, slots_of

if TYPE_CHECKING:
    from gitworker.store.api import Writer
    from gitworker.store.scheduling.agents import RegisteredAgent


def follow_worker(writer: Writer, worker: str, *, actor: str, ending: str | None = None) -> None:
    """Bring the agent of a worker in line with its workers, in the caller's transaction.

    `ending` is ERROR or SHUTDOWN if the agent cannot continue. Without a registered agent this is
    one query.
    """
    agent = find_agent_of_worker(writer, worker)
    if agent is not None:
        follow_agent(writer, agent, actor=actor, ending=ending)


def follow_agent(
    writer: Writer, agent: RegisteredAgent, *, actor: str, ending: str | None = None
) -> str:
    """Bring a registered agent in line with its workers, its pause and its removal.

    Returns its state.
    """
    from gitworker.bus.transitions import move_agent  # 8 ms, and the rules: registered agents only
    from gitworker.lifecycle.registered.rules_agent_events import (
        SlotFacts,
        condition_of,
        events_to,
    )
    from gitworker.model.agent import AgentState
    from gitworker.model.task import TaskStatus
    from gitworker.model.worker import WorkerState

    rows = slots_of(writer, agent.name)
    found = condition_of([
        SlotFacts(
            one.worker, WorkerState(one.state),
            WorkerState(one.stale_from) if one.stale_from else None, bool(one.waits_for_author),
            one.task, TaskStatus(one.status) if one.status else None,
        )
        for one in rows
    ])  # fmt: skip
    path = next((one.worktree for one in rows if one.task == found.task), None)
    events = events_to(
        AgentState(agent.state), found.state, has_task=agent.task is not None,
        ending=AgentState(ending) if ending else None,
        is_paused=agent.is_paused, is_leaving=agent.is_leaving,
    )  # fmt: skip
    for event in events:
        agent = move_agent(writer, agent, event, actor=actor, task_count=found.number)
    if agent.task != found.task:
        set_agent_task(writer, agent.id, found.task, path if found.task else None)
    return agent.state
