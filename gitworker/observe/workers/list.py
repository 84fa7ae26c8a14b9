"""list: one short row per worker with state, task and branch; stable for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.model.worker import WorkerState
from gitworker.observe.text import NOTHING, one_line, table
from gitworker.observe.workers.status import STATE_COLORS
from gitworker.store.records.screens import read_short_rows

if TYPE_CHECKING:
    from gitworker.session import Session

HEAD = ("WORKER", "STATE", "TASK", "BRANCH")


class ListedWorker(NamedTuple):
    """One row."""

    worker: str
    state: WorkerState
    task: str | None
    branch: str | None


class WorkerList(NamedTuple):
    """Every worker by name."""

    workers: tuple[ListedWorker, ...]


def read_list(session: Session) -> WorkerList:
    """Read every worker by one query and no git."""
    with session.store.read() as reader:
        rows = read_short_rows(reader)
    return WorkerList(
        tuple(ListedWorker(one.worker_id, one.state, one.task_id, one.branch) for one in rows)
    )


def render_list(found: WorkerList, *, width: int | None, color: bool) -> str:
    """Return a table for a terminal; without a width, bare rows separated by tabs for scripts."""
    rows = [
        (one.worker, one.state.value, one.task or NOTHING, one.branch or NOTHING)
        for one in found.workers
    ]
    if width is None:
        return "\n".join("\t".join(map(one_line, row)) for row in rows)
    if not rows:
        return "no workers yet: git worker spawn WORKER TASK"
    return "\n".join(table(HEAD, rows, width=width, colors={1: STATE_COLORS}, color=color))


def json_list(found: WorkerList) -> dict[str, Any]:
    """Return the rows as JSON data."""
    return {
        "workers": [
            {
                "worker": one.worker, "state": one.state.value, "task": one.task,
                "branch": one.branch,
            }
            for one in found.workers
        ]
    }  # fmt: skip
