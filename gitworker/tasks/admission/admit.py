"""Admit the start of an agent, or refuse it: `exec`, `spawn`, `resume`, rounds and `run` alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.bus.limits.send_limits import limits_of
from gitworker.liveness.supervised_agent import living_agent
from gitworker.store.records.task_specs import find_task_spec
from gitworker.store.scheduling.starts import find_agent_row, find_project_of, open_starts
from gitworker.tasks.admission.rules_admission import Running, StartFacts, agent_of, start_refusal

if TYPE_CHECKING:
    from gitworker.errors import GitWorkerError
    from gitworker.paths import StatePaths
    from gitworker.session import Session
    from gitworker.store.api import Reader


def require_admitted(
    reader: Reader,
    paths: StatePaths,
    *,
    worker: str,
    task: str,
    agent_type: str,
    type_agents: int | None,
    has_begun: bool,
) -> None:
    """Raise Refused or Conflict if a limit forbids an agent to start now as a worker.

    `type_agents` is the limit of its kind. `has_begun`: the task was at work before. In the
    transaction that records the start, no other start passes the same limit.
    """
    refusal = _refusal(
        reader, paths, worker=worker, task=task, agent_type=agent_type, type_agents=type_agents,
        has_begun=has_begun,
    )  # fmt: skip
    if refusal is not None:
        raise refusal


def find_start_refusal(session: Session, reader: Reader, task: str) -> GitWorkerError | None:
    """Return the limit that forbids a task to start now with the agent that it names."""
    spec = find_task_spec(reader, task)
    kind = (spec and spec.agent) or "command"
    return _refusal(
        reader, session.paths, worker="", task=task, agent_type=kind,
        type_agents=limits_of(session.settings).agent_limits.get(kind), has_begun=False,
    )  # fmt: skip


def _refusal(
    reader: Reader,
    paths: StatePaths,
    *,
    worker: str,
    task: str,
    agent_type: str,
    type_agents: int | None,
    has_begun: bool,
) -> GitWorkerError | None:
    project = find_project_of(reader, task)
    agent = find_agent_row(reader, worker) or find_agent_row(reader, agent_of(worker))
    is_limited = type_agents is not None or project.agents is not None or agent is not None
    facts = StartFacts(
        worker, task, agent_type, has_begun,
        is_held=project.is_task_held, project=project.id, project_status=project.status,
        project_agents=project.agents, budget=project.budget, tokens=project.tokens,
        task_budget=project.task_budget, task_tokens=project.task_tokens,
        type_agents=type_agents,
        running=living_starts(reader, paths, besides=worker) if is_limited else (),
    )  # fmt: skip
    if agent is not None:
        facts = facts._replace(
            agent=agent.id, agent_state=agent.state, agent_has_task=agent.task is not None,
            agent_tasks=agent.tasks if agent.id != worker else None,
        )  # fmt: skip
    return start_refusal(facts)


def living_starts(reader: Reader, paths: StatePaths, *, besides: str = "") -> list[Running]:
    """Return the agents that live, except the one of a worker."""
    return [
        Running(one.run.worker_id, one.project, one.agent_type)
        for one in open_starts(reader)
        if one.run.worker_id != besides and living_agent(reader, paths, one.run) is not None
    ]
