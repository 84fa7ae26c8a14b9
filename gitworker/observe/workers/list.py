"""list: one short row per worker; stable for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.model.worker import WorkerState
from gitworker.observe.text import NOTHING, one_line, table
from gitworker.observe.workers.status_text import STATE_COLORS
from gitworker.store.records.screens import read_short_rows

if TYPE_CHECKING:
    from gitworker.session import Session

HEAD = ("WORKER", "STATE", "TASK", "BRANCH", "RETURNED")


class ListedWorker(NamedTuple):
    """One row; `returned` is the reason for which its work was sent back."""

    worker: str
    state: WorkerState
    task: str | None
    branch: str | None
    returned: str | None = None


class WorkerList(NamedTuple):
    """Every worker by name."""

    workers: tuple[ListedWorker, ...]


def read_list(session: Session) -> WorkerList:
    """Read every worker by one query and no git."""
    with session.store.read() as reader:
        rows = read_short_rows(reader)
    return WorkerList(
        tuple(
            ListedWorker(one.worker_id, one.state, one.task_id, one.branch, one.returned_by)
            for one in rows
        )
    )


def render_list(found: WorkerList, *, width: int | None, color: bool) -> str:
    """Return a table for a terminal; without a width, bare rows separated by tabs for scripts."""
    rows = [
        (
            one.worker, one.state.value, one.task or NOTHING, one.branch or NOTHING,
            one.returned or NOTHING,
        )
        for one in found.workers
    ]  # fmt: skip
    if width is None:
        return "\n".join("\t".join(map(one_line, row)) for row in rows)
    if not rows:
        return "no workers yet: git worker spawn WORKER TASK"
    columns = len(HEAD) if any(one.returned for one in found.workers) else len(HEAD) - 1
    head, cells = HEAD[:columns], [row[:columns] for row in rows]
    return "\n".join(table(head, cells, width=width, colors={1: STATE_COLORS}, color=color))


def json_list(found: WorkerList) -> dict[str, Any]:
    """Return the rows as JSON data."""
    return {
        "workers": [
            {
                "worker": one.worker, "state": one.state.value, "task": one.task,
                "branch": one.branch, "returned": one.returned,
            }
            for one in found.workers
        ]
    }  # fmt: skip
