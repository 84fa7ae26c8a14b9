"""Whether an agent may start now, by the limits of its task, its project and its agent. Pure.

The number of agents of a project limits agents that are started by hand only once a person has set
it: without that, it is the number that `run` starts by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.errors import Conflict, GitWorkerError, Refused
from gitworker.model.agent import AgentState
from gitworker.model.project import ProjectStatus
from gitworker.model.tokens.budget import CODE, spent_project, spent_task

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMED_AT_MOST = 3
LIMIT = "agent_limit"  # the code of a refusal that ends with another agent


class Running(NamedTuple):
    """A living agent: its worker, its project, its kind."""

    worker: str
    project: str
    agent_type: str


class StartFacts(NamedTuple):
    """A start: its worker, its task, the kind of its agent, and the limits; None: no limit.

    `has_begun`: the task was at work before. `agent` is the registered agent with the slots of
    which the worker is one. `running` are the other agents that live.
    """

    worker: str
    task: str
    agent_type: str
    has_begun: bool = False
    is_held: bool = False
    project: str = "default"
    project_status: str = ProjectStatus.ACTIVE
    project_agents: int | None = None
    budget: int | None = None
    tokens: int = 0
    task_budget: int | None = None
    task_tokens: int = 0
    agent: str | None = None
    agent_state: str = AgentState.IDLE
    agent_has_task: bool = False
    agent_tasks: int | None = None
    type_agents: int | None = None
    running: Sequence[Running] = ()


def start_refusal(facts: StartFacts) -> GitWorkerError | None:
    """Return the limit that an agent's start would break, with the command that helps, or None."""
    if facts.is_held:
        return Refused(
            f"task {facts.task} is held back, so no agent starts on it",
            f"git worker task release {facts.task}", code="task_held",
        )  # fmt: skip
    spent = spent_task(facts.task, facts.task_tokens, facts.task_budget)
    if spent is not None:
        return Refused(f"{spent.words}, so no agent starts on it", spent.command, code=CODE)
    return _project_refusal(facts) or _agent_refusal(facts) or _number_refusal(facts)


def agent_of(worker: str) -> str:
    """Return the agent of which a worker is a slot: `claude` of `claude-2`, else the worker."""
    name, dash, number = worker.rpartition("-")
    return name if dash and name and number.isascii() and number.isdigit() else worker


def _project_refusal(facts: StartFacts) -> GitWorkerError | None:
    """Return the refusal of a project that starts nothing; a task at work continues in a pause."""
    is_active = facts.project_status == ProjectStatus.ACTIVE
    if not is_active and not (facts.has_begun and facts.project_status == ProjectStatus.PAUSED):
        return Refused(
            f"project {facts.project} is {facts.project_status.lower()}, so no agent starts on"
            f" {facts.task}",
            f"git worker project resume {facts.project}", code="project_paused",
        )  # fmt: skip
    spent = spent_project(facts.project, facts.tokens, facts.budget)
    if spent is None:
        return None
    return Refused(f"{spent.words}, so no agent starts on {facts.task}", spent.command, code=CODE)


def _agent_refusal(facts: StartFacts) -> GitWorkerError | None:
    """Return the refusal of a paused agent.

    A paused agent that has a task waits for the end of a limit: then it continues that work.
    """
    if facts.agent_state != AgentState.PAUSED or (facts.agent_has_task and facts.has_begun):
        return None
    return Refused(
        f"agent {facts.agent} is paused, so it does not start on {facts.task}",
        code="agent_paused",
    )  # fmt: skip


def _number_refusal(facts: StartFacts) -> GitWorkerError | None:
    """Return the refusal of the first number that is reached, with the agents that count."""
    in_project = [one for one in facts.running if one.project == facts.project]
    of_agent = [one for one in facts.running if agent_of(one.worker) == facts.agent]
    of_type = [one for one in facts.running if one.agent_type == facts.agent_type]
    for subject, limit, others in (
        (f"project {facts.project}", facts.project_agents, in_project),
        (f"agent {facts.agent}", facts.agent_tasks, of_agent),
        (f"the setting agents.limits of {facts.agent_type}", facts.type_agents, of_type),
    ):
        if limit is not None and len(others) >= limit:
            return _reached(facts, subject, limit, [one.worker for one in others])
    return None


def _reached(facts: StartFacts, subject: str, limit: int, workers: Sequence[str]) -> GitWorkerError:
    names = ", ".join(workers[:NAMED_AT_MOST])
    more = f" and {len(workers) - NAMED_AT_MOST} more" if len(workers) > NAMED_AT_MOST else ""
    at_work = f" ({names}{more})" if workers else ""
    plural = "agent" if limit == 1 else "agents"
    return Conflict(
        f"{subject} allows {limit} {plural} at once{at_work}, so none starts on {facts.task}",
        f"git worker wait {workers[0]}" if workers else "git worker config agents.limits",
        code=LIMIT,
    )
