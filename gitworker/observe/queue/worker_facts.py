"""The facts by which a board groups workers: project, workstream, agent, tokens and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.store.records.run_results import find_run_result, usage_of_runs
from gitworker.store.tasks import all_tasks
from gitworker.store.workers import all_workers

if TYPE_CHECKING:
    from gitworker.session import Session


class WorkerFacts(NamedTuple):
    """The project and the workstream of a worker's task, and its agent; None: not known.

    `tokens` and `cost_usd` are those of all runs of the task, as far as agents have reported them.
    """

    project: str | None = None
    workstream: str | None = None
    agent: str | None = None
    tokens: int | None = None
    cost_usd: float | None = None


def read_worker_facts(session: Session) -> dict[str, WorkerFacts]:
    """Read the facts of every worker that has a task, by worker."""
    with session.store.read() as reader:
        tasks = {one.id: one for one in all_tasks(reader)}
        usage = {one.name: one for one in usage_of_runs(reader, "task", now=clock.now_ms())}
        found: dict[str, WorkerFacts] = {}
        for worker in all_workers(reader):
            task = tasks.get(worker.task_id) if worker.task_id else None
            if task is None:
                continue
            run = find_run_result(reader, worker.worker_id, task.id)
            used = usage.get(task.id)
            found[worker.worker_id] = WorkerFacts(
                task.project_id, task.workstream_id, run.agent if run else None,
                used.input_tokens + used.output_tokens if used else None,
                used.cost_usd if used else None,
            )  # fmt: skip
    return found
