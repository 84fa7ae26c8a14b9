"""Put tasks into a workstream: it must be open, and the task must not have started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.bus.steps.workstream import follow_tasks
from gitworker.errors import NotFound, Refused
from gitworker.model.ref_names import short_name
from gitworker.states.task_machine import status_words
from gitworker.states.workstream_machine import NOT_STARTED, OPEN, takes_repairs
from gitworker.store.planning.workstreams import (
    find_branch_of_task,
    find_crossing,
    find_workstream,
    insert_workstream,
    set_member,
)
from gitworker.store.tasks import StoredTask, find_task

if TYPE_CHECKING:
    from collections.abc import Collection

    from gitworker.store.api import Reader, Writer
    from gitworker.store.planning.workstreams import Workstream


def require_workstream(reader: Reader, name: str) -> Workstream:
    """Return a workstream; raise NotFound for an unknown one."""
    found = find_workstream(reader, name)
    if found is None:
        raise NotFound(f"there is no workstream {name}", f"git worker workstream create {name}")
    return found


def require_open(reader: Reader, name: str) -> Workstream:
    """Return a workstream that takes tasks; raise NotFound, or Refused if it has ended.

    One with a branch that has not landed takes tasks after its others too: they repair the branch.
    """
    found = require_workstream(reader, name)
    if found.state not in OPEN and not (takes_repairs(found.state) and found.has_to_land):
        raise Refused(
            f"workstream {name} is {found.state} and takes no new tasks",
            f"git worker workstream show {name}",
            code="moved_on",
        )
    return found


def join(writer: Writer, name: str, task: StoredTask, *, actor: str) -> None:
    """Put a task into a workstream, out of its present one; raise Refused if it has started."""
    if task.workstream_id == name:
        return
    found = require_open(writer, name)
    require_may_join(writer, found, task)
    set_member(writer, name, task.id)
    for one in (name, task.workstream_id):
        if one is not None:
            follow_tasks(writer, one, actor=actor)


def require_may_join(reader: Reader, found: Workstream, task: StoredTask) -> None:
    """Raise Refused if a task has started, or has a worker that began at another target."""
    if task.status not in NOT_STARTED:
        raise Refused(
            f"task {task.id} {status_words(task.status)}: only a task that has not started joins a"
            " workstream",
            f"git worker task show {task.id}",
            code="moved_on",
        )
    has_branch = found.has_to_land or find_branch_of_task(reader, task.id) is not None
    if has_branch and task.assigned_agent_id is not None:
        raise Refused(
            f"task {task.id} has a worker, whose branch begins at another target than that of"
            f" workstream {found.id}",
            f"git worker cancel {task.assigned_agent_id}",
            code="moved_on",
        )


def require_one_target(reader: Reader, task: str, *, new: Collection[str] = ()) -> None:
    """Raise Refused if a task depends on one that lands on another branch, or the reverse.

    The work that it waits for would not be in the branch that it starts from, unless it landed on
    the target before that branch began. `new` are the tasks that the refusal rolls back.
    """
    crossing = find_crossing(reader, task)
    if crossing is None:
        return
    one, other = crossing
    branches = [find_branch_of_task(reader, name) for name in (one, other)]
    names = [short_name(ref) if ref else "the target" for ref in branches]
    raise Refused(
        f"task {one} lands on {names[0]} and {other} on {names[1]}, so {one} cannot wait for it",
        _join_command(reader, crossing, new),
        code="other_target",
    )


def _join_command(reader: Reader, pair: tuple[str, str], new: Collection[str]) -> str:
    """Return the command that puts both tasks into one workstream; if none can, show it."""
    command = ""
    for member, other in (pair, pair[::-1]):
        inside, outside = find_task(reader, member), find_task(reader, other)
        if inside is None or outside is None or find_branch_of_task(reader, member) is None:
            continue
        name = str(inside.workstream_id)
        command = f"git worker workstream show {name}"
        try:
            require_may_join(reader, require_open(reader, name), outside)
        except Refused:
            continue
        if other not in new:
            tasks = " ".join(one for one in pair if one not in new)
            return f"git worker workstream add {name} {tasks}"
    return command


def ensure_workstream(writer: Writer, name: str) -> None:
    """Create a workstream that a plan names, if it does not exist."""
    if find_workstream(writer, name) is None:
        insert_workstream(writer, name, title="", validation=(), now=clock.now_ms())
