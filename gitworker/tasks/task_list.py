"""task list: the tasks that wait for a person first, with their workers and next commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.model.task_spec import OpenNeed
from gitworker.observe.next_step.next_command import (
    NextStep,
    read_next_steps,
    read_worker_refs,
)
from gitworker.observe.text import NOTHING, column_widths, listing, one_line, table
from gitworker.observe.text_width import width_of
from gitworker.observe.workers.returned import returned_text, returned_work
from gitworker.observe.workers.rules_worker import is_returned
from gitworker.observe.workers.status_text import rows_below
from gitworker.states.task_machine import has_ended, status_label
from gitworker.store.records.landings import all_landings, landed_by
from gitworker.store.records.screens import TaskRow, read_task_rows, read_worker_rows
from gitworker.store.records.task_needs import all_open_needs, open_needs_of
from gitworker.store.records.task_queue import count_by_project
from gitworker.store.workers import Worker, all_workers
from gitworker.tasks.projects.change_project import require_project
from gitworker.tasks.rules_task_list import (
    LISTED,
    blocked_by_text,
    json_blocked_by,
    next_without_worker,
    shows_error,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gitworker.model.task import TaskStatus
    from gitworker.session import Session
    from gitworker.store.api import Reader

PAGE = 100  # tasks on a terminal
HEAD = ("TASK", "STATUS", "WORKER", "NEXT", "REASON")


class ListedTask(NamedTuple):
    """One row; `worker` has the task or was the last to have it. `reason` is why it has stopped."""

    task: str
    title: str
    status: TaskStatus
    since_ms: int
    worker: str | None
    next_command: str | None
    reason: str
    blocked_by: tuple[OpenNeed, ...] = ()
    project: str = "default"


class TaskList(NamedTuple):
    """The tasks in the order of `LISTED`, the last change first; `total` counts those left out."""

    tasks: tuple[ListedTask, ...]
    total: int = 0

    @property
    def has_more(self) -> bool:
        """Return whether tasks were left out."""
        return self.total > len(self.tasks)


def read_tasks(
    session: Session,
    statuses: Collection[TaskStatus] = (),
    *,
    project: str | None = None,
    limit: int | None = None,
) -> TaskList:
    """Read every task, or those in one of the statuses and of a project, in one snapshot.

    With `limit` only the first ones, at a cost that does not depend on their number. Raises
    NotFound for an unknown project.
    """
    wanted = [one for one in LISTED if not statuses or one in statuses]
    with session.store.read() as reader:
        if project is not None:
            require_project(reader, project)
        workers: dict[str, Worker] = {}
        for one in sorted(all_workers(reader), key=lambda one: one.state_changed_at_ms):
            if one.task_id:
                workers[one.task_id] = one
        rows = read_task_rows(reader, wanted, project=project, limit=limit)
        if limit is None:
            open_needs = all_open_needs(reader)
        else:
            open_needs = {row.id: open_needs_of(reader, row.id) for row in rows}
        counts = count_by_project(reader)
        if limit is None:
            landers: dict[str, str] = {one.task_id: one.worker_id for one in all_landings(reader)}
        else:
            landers = landed_by(reader, [row.id for row in rows if _was_left(row, workers)])
        steps = _next_steps(session, reader, rows, workers)
        return TaskList(
            tuple(
                _listed(
                    task,
                    workers.get(task.id),
                    landers.get(task.id),
                    tuple(open_needs.get(task.id, ())),
                    step=steps.get(task.id),
                )  # fmt: skip
                for task in rows
            ),
            sum(counts[one].get(status, 0) for one in counts for status in wanted
                if project in (None, one)),
        )  # fmt: skip


def _next_steps(
    session: Session, reader: Reader, rows: Sequence[TaskRow], workers: Mapping[str, Worker]
) -> dict[str, NextStep]:
    """Return the next step of the worker of each task that has one and has not ended."""
    wanted: dict[str, str] = {
        workers[task.id].worker_id: task.id
        for task in rows
        if task.id in workers and not has_ended(task.status)
    }
    shown = [row for row in read_worker_rows(reader) if row.worker_id in wanted]
    refs = read_worker_refs(session, shown)
    steps = read_next_steps(session, reader, shown, refs, actor=session.actor)
    return {wanted[worker]: step for worker, step in steps.items()}


def _was_left(task: TaskRow, workers: Mapping[str, Worker]) -> bool:
    """Return whether the worker of a landed task may have another one by now."""
    is_known = task.id in workers or task.assigned_agent_id is not None
    return has_ended(task.status) and not is_known


def render_tasks(found: TaskList, *, width: int | None, color: bool) -> str:
    """Return a table for a terminal; without a width, bare rows separated by tabs for scripts.

    If the commands do not fit into their column, each is a line below its task.
    """
    rows = [
        (one.task, one.status.value if width is None else status_label(one.status),
         one.worker or NOTHING, one.next_command or NOTHING, one.reason)
        for one in found.tasks
    ]  # fmt: skip
    more = [f"{len(rows)} of {found.total} tasks; --all lists all"] if found.has_more else []
    empty = "no such task: git worker status"
    if width is None or not _cuts_commands(rows, width):
        return listing(HEAD, rows, width=width, color=color, empty=empty, last=more)
    head = _without_next(HEAD)
    cells = [[one_line(cell) for cell in _without_next(row)] for row in rows]
    widths = column_widths(head, cells, width=width)
    heading, *lines = table(head, cells, width=width, color=color, widths=widths)
    shown = [heading]
    for one, line in zip(found.tasks, lines, strict=True):
        shown += [line, *rows_below(line, widths[0], one.next_command, None)]
    return "\n".join([*shown, *more])


def _cuts_commands(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Return whether the table does not have enough space for its commands."""
    at = HEAD.index("NEXT")
    needed = max((width_of(one_line(row[at])) for row in rows), default=0)
    return column_widths(HEAD, rows, width=width)[at] < needed


def _without_next(row: Sequence[str]) -> tuple[str, ...]:
    return tuple(cell for name, cell in zip(HEAD, row, strict=True) if name != "NEXT")


def json_tasks(found: TaskList) -> dict[str, Any]:
    """Return the tasks as JSON data."""
    return {
        "tasks": [
            {
                "task": one.task, "title": one.title, "status": one.status.value,
                "since": clock.iso_utc(one.since_ms), "worker": one.worker,
                "reason": one.reason or None, "next": one.next_command,
                "blocked_by": json_blocked_by(one.blocked_by), "project": one.project,
            }
            for one in found.tasks
        ],
        "more": found.has_more,
    }  # fmt: skip


def _listed(
    task: TaskRow,
    worker: Worker | None,
    lander: str | None,
    waits_for: tuple[OpenNeed, ...],
    *,
    step: NextStep | None,
) -> ListedTask:
    if step is not None:
        command: str | None = step.command
    else:
        command = next_without_worker(
            task.id,
            task.status,
            waits_for=[need.task for need in waits_for],
            retries_left=bool(task.retries_left),
            held=bool(task.held),
        )
    holder = worker.worker_id if worker else task.assigned_agent_id or lander
    return ListedTask(
        task.id, task.title, task.status, task.status_changed_at_ms,
        holder, command, _reason(task, worker, waits_for, step=step), waits_for, task.project_id,
    )  # fmt: skip


def _reason(
    task: TaskRow, worker: Worker | None, waits_for: Sequence[OpenNeed], *, step: NextStep | None
) -> str:
    """Return why a task has stopped, or why its work came back; "" if it goes on."""
    if waits_for:
        return f"waits for {blocked_by_text(waits_for)}"
    if task.held:
        return "is held back"
    returned = returned_work(worker) if worker and is_returned(worker.state) else None
    if returned is not None and not has_ended(task.status):
        return returned_text(returned)
    if step is not None and step.trouble is not None:
        return step.trouble.words
    return (task.last_error or "") if shows_error(task.status) else ""
