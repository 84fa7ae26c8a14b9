"""The facts by which a board groups workers: project, workstream, agent, tokens and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.model.tokens.prices import Cost, parse_prices
from gitworker.store.records.run_results import find_run_result, usage_of_runs
from gitworker.store.scheduling.usage import spending_of_runs
from gitworker.store.tasks import find_task
from gitworker.store.workers import all_workers

if TYPE_CHECKING:
    from gitworker.session import Session


class CardFacts(NamedTuple):
    """The project and the workstream of a worker's task, and its agent; None: not known.

    `tokens` and `cost` are those of all runs of the task, as far as they are known.
    """

    project: str | None = None
    workstream: str | None = None
    agent: str | None = None
    tokens: int | None = None
    cost: Cost | None = None


def read_worker_facts(session: Session) -> dict[str, CardFacts]:
    """Read the facts of every worker that has a task, by worker."""
    with session.store.read() as reader:
        prices = parse_prices(session.settings.agents_prices)
        spending = spending_of_runs(reader, "task")
        usage = {one.name: one for one in usage_of_runs(reader, "task", now=clock.now_ms())}
        found: dict[str, CardFacts] = {}
        for worker in all_workers(reader):
            task = find_task(reader, worker.task_id) if worker.task_id else None
            if task is None:
                continue
            run = find_run_result(reader, worker.worker_id, task.id)
            used, spent = usage.get(task.id), spending.get(task.id)
            found[worker.worker_id] = CardFacts(
                task.project_id, task.workstream_id, run.agent if run else None,
                used.input_tokens + used.output_tokens if used else None,
                spent.cost(prices) if spent else None,
            )  # fmt: skip
    return found
