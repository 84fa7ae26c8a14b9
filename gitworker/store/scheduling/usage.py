"""The tokens that tasks, projects and registered agents have used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.task import TaskStatus
from gitworker.model.tokens.prices import Tokens, cost_of
from gitworker.model.tokens.token_times import add_tokens
from gitworker.store.records.task_queue import count_by_project
from gitworker.store.scheduling.agents import charge_agent, find_agent_of_worker
from gitworker.store.scheduling.projects import DEFAULT, all_projects, charge_project

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gitworker.model.tokens.prices import Cost, Price
    from gitworker.store.api import Reader, Row, Writer


class UsedBudget(NamedTuple):
    """A budget that is reached, in tokens: that of a task, or of a project with its tasks.

    `tasks` is the number of tasks in each status: of the project, or 1 for the task itself.
    """

    project: str
    task: str | None
    used: int
    budget: int
    tasks: Mapping[TaskStatus, int]


def used_budgets(reader: Reader) -> list[UsedBudget]:
    """Return the budgets that are reached: those of projects by id, then those of tasks by id."""
    over = [
        one
        for one in all_projects(reader)
        if one.budget_limit is not None and one.total_tokens_used >= one.budget_limit
    ]
    counts = count_by_project(reader) if over else {}
    found = [
        UsedBudget(
            one.id, None, one.total_tokens_used, one.budget_limit or 0, counts.get(one.id, {})
        )
        for one in over
    ]
    for row in reader.rows("tasks.over_budget"):
        tasks = {TaskStatus(row["status"]): 1}
        used, budget = row["tokens_used"], row["budget"]
        found.append(UsedBudget(row["project_id"], row["id"], used, budget, tasks))
    return found


class Usage(NamedTuple):
    """The tokens and the cost that an agent has reported so far; None: not reported.

    `cached_tokens` are those of the input that came from a cache.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    model: str | None = None

    @property
    def tokens(self) -> int:
        """Return the tokens of both directions."""
        return (self.input_tokens or 0) + (self.output_tokens or 0)

    def cost(self, prices: Mapping[str, Price], agent: str) -> Cost | None:
        """Return the reported cost, else that of the tokens by prices; None if it is not known."""
        if self.cost_usd is not None or not self.tokens:
            return cost_of(prices, self.cost_usd)
        counts = (self.input_tokens, self.output_tokens, self.cached_tokens)
        tokens = Tokens(agent, self.model, *(one or 0 for one in counts))
        return cost_of(prices, None, [tokens])


class RunOwner(NamedTuple):
    """The worker of a run, its task, and the kind of its agent."""

    worker: str
    task: str
    agent: str


def record_usage(writer: Writer, run: int, usage: Usage, owner: RunOwner, *, now: int) -> None:
    """Record what an open run has used by `now`, and count its new tokens and its cost."""
    row = writer.row("runs.used", run=run)
    if row is None:
        return
    before = Usage(*(row[name] for name in Usage._fields))
    times = add_tokens(row["token_times"], usage.tokens - before.tokens, now)
    writer.run("runs.use", run=run, token_times=times, **usage._asdict())
    charge_usage(writer, usage, owner, before=before)


def charge_usage(
    writer: Writer, usage: Usage, owner: RunOwner, *, before: Usage | None = None
) -> None:
    """Count the tokens and the cost of an agent; `before` are those that were counted already."""
    before = before or Usage()
    more = usage.tokens - before.tokens
    project = charge_run(writer, worker=owner.worker, task=owner.task, tokens=more)
    for one, sign in ((before, -1), (usage, 1)):
        if one != Usage():
            _spend(writer, one, project=project, agent=owner.agent, sign=sign)


def charge_run(writer: Writer, *, worker: str, task: str, tokens: int) -> str:
    """Add tokens to those that a task, its project and its agent have used; return the project."""
    row = writer.row("projects.charge_task", task=task, tokens=tokens)
    project = row["project_id"] if row else DEFAULT
    if tokens:
        charge_project(writer, project, tokens)
        agent = find_agent_of_worker(writer, worker)
        if agent is not None:
            charge_agent(writer, agent.id, tokens)
    return project


class UsageTotal(NamedTuple):
    """The cost that the agents of a project have reported, and the tokens without such a cost."""

    reported_usd: float | None = None
    unpriced: tuple[Tokens, ...] = ()

    def cost(self, prices: Mapping[str, Price]) -> Cost | None:
        """Return the whole cost by a table of prices; None if nothing of it is known."""
        return cost_of(prices, self.reported_usd, self.unpriced)


def spending_by_project(reader: Reader) -> dict[str, UsageTotal]:
    """Return what the agents of each project have used; a project without runs is absent."""
    return _spending(reader.rows("projects.spending"))


def spending_of_runs(reader: Reader, by: str) -> dict[str, UsageTotal]:
    """Return what the runs of tasks have used by `task`, `project` or `agent`."""
    return _spending(reader.rows("runs.spending", by=by))


def spending_since(reader: Reader, first: int) -> dict[str, UsageTotal]:
    """Return what runs from this id on have used, by worker."""
    return _spending(reader.rows("runs.spending_since", first=first))


def _spending(rows: Iterable[Row]) -> dict[str, UsageTotal]:
    found: dict[str, UsageTotal] = {}
    for row in rows:
        before = found.get(row["name"], UsageTotal())
        costs = [one for one in (before.reported_usd, row["cost_usd"]) if one is not None]
        tokens = Tokens(
            row["agent"], row["model"] or None, row["input_tokens"], row["output_tokens"],
            row["cached_tokens"],
        )  # fmt: skip
        has_tokens = tokens.input or tokens.output
        found[row["name"]] = UsageTotal(
            sum(costs) if costs else None, (*before.unpriced, *((tokens,) if has_tokens else ()))
        )
    return found


def _spend(writer: Writer, usage: Usage, *, project: str, agent: str, sign: int) -> None:
    """Count the reported cost of a run for its project, or its tokens if it reports no cost."""
    factor = sign if usage.cost_usd is None else 0
    writer.run(
        "projects.spend",
        project=project, agent=agent, model=usage.model or "",
        input_tokens=factor * (usage.input_tokens or 0),
        output_tokens=factor * (usage.output_tokens or 0),
        cached_tokens=factor * (usage.cached_tokens or 0),
        cost_usd=None if usage.cost_usd is None else sign * usage.cost_usd,
    )  # fmt: skip
