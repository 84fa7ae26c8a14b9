"""list: one short row per worker; stable for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.model.worker import WorkerState
from gitworker.observe.next_step.next_command import read_next_steps
from gitworker.observe.text import NOTHING, column_widths, one_line, table
from gitworker.observe.workers.returned import json_returned, returned_text, returned_work
from gitworker.observe.workers.rules_worker import is_returned, needs_command
from gitworker.observe.workers.status import machine_of
from gitworker.observe.workers.status_text import STATE_COLORS, rows_below
from gitworker.states.worker_machine import state_label
from gitworker.store.records.screens import read_worker_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.model.ids import Oid, Ref
    from gitworker.observe.next_step.next_command import NextStep
    from gitworker.observe.workers.returned import ReturnedWork
    from gitworker.session import Session
    from gitworker.store.records.screens import WorkerRow

HEAD = ("WORKER", "STATE", "TASK", "BRANCH")


class ListedWorker(NamedTuple):
    """One row; `returned` is the reason for which its work was sent back.

    `needs_command`: the worker continues only by `next_command`.
    """

    worker: str
    state: WorkerState
    task: str | None
    branch: str | None
    next_command: str
    returned: ReturnedWork | None = None
    needs_command: bool = False
    machine: str | None = None  # the machine of its worktree in a fleet


class WorkerList(NamedTuple):
    """Every worker by name."""

    workers: tuple[ListedWorker, ...]


def read_list(session: Session, refs: Mapping[Ref, Oid]) -> WorkerList:
    """Read every worker in one snapshot; `refs` are the tips of their branches."""
    with session.store.read() as reader:
        rows = read_worker_rows(reader)
        steps = read_next_steps(session, reader, rows, refs, actor=session.actor)
    return WorkerList(
        tuple(_listed(row, steps[row.worker_id], machine_of(row, session)) for row in rows)
    )


def _listed(row: WorkerRow, step: NextStep, machine: str | None) -> ListedWorker:
    returned = returned_work(row) if is_returned(row.state) else None
    waits = returned is not None or row.agent_end is not None
    return ListedWorker(
        row.worker_id, row.state, row.task_id, row.branch, step.command, returned,
        needs_command=step.trouble is not None or needs_command(row.state, returned=waits),
        machine=machine,
    )  # fmt: skip


def render_list(found: WorkerList, *, width: int | None, color: bool) -> str:
    """Return a table for a terminal; without a width, bare rows separated by tabs for scripts.

    Below a worker that cannot continue without a command is that command.
    """
    if width is None:
        return "\n".join("\t".join(map(one_line, _bare_row(one))) for one in found.workers)
    rows = [
        (one.worker, state_label(one.state), one.task or NOTHING, one.branch or NOTHING)
        for one in found.workers
    ]
    if not rows:
        return "no workers yet: git worker spawn <worker> <task>"
    head: tuple[str, ...] = HEAD
    cells: list[tuple[str, ...]] = [*rows]
    if any(one.returned for one in found.workers):
        head = (*HEAD, "RETURNED")
        cells = [(*row, _reason(one)) for row, one in zip(rows, found.workers, strict=True)]
    if any(one.machine for one in found.workers):
        head = (*head, "MACHINE")
        cells = [
            (*row, one.machine or NOTHING) for row, one in zip(cells, found.workers, strict=True)
        ]
    widths = column_widths(head, cells, width=width)
    heading, *lines = table(
        head, cells, width=width, colors={1: STATE_COLORS}, color=color, widths=widths
    )
    shown = [heading]
    for one, line in zip(found.workers, lines, strict=True):
        command = one.next_command if one.needs_command else None
        shown += [line, *rows_below(line, widths[0], command, one.returned)]
    return "\n".join(shown)


def _reason(one: ListedWorker) -> str:
    return returned_text(one.returned, with_log=False) if one.returned else NOTHING


def _bare_row(one: ListedWorker) -> list[str]:
    """Return a row for scripts, which has the names of the state and of the reason as in JSON."""
    row = [one.worker, one.state.value, one.task or NOTHING, one.branch or NOTHING]
    return [*row, one.returned.reason] if one.returned else row


def json_list(found: WorkerList) -> dict[str, Any]:
    """Return the rows as JSON data."""
    return {
        "workers": [
            {
                "worker": one.worker, "machine": one.machine,
                "state": one.state.value, "task": one.task,
                "branch": one.branch, "returned": json_returned(one.returned),
                "next": one.next_command,
            }
            for one in found.workers
        ]
    }  # fmt: skip
