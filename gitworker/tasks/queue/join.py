"""Put tasks into a workstream: it must be open, and the task must not have started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.bus.steps.workstream import follow_tasks
from gitworker.errors import NotFound, Refused
from gitworker.states.task_machine import status_words
from gitworker.states.workstream_machine import NOT_STARTED, OPEN
from gitworker.store.planning.workstreams import find_workstream, insert_workstream, set_member
from gitworker.store.tasks import StoredTask

if TYPE_CHECKING:
    from gitworker.store.api import Reader, Writer
    from gitworker.store.planning.workstreams import Workstream


def require_workstream(reader: Reader, name: str) -> Workstream:
    """Return a workstream; raise NotFound for an unknown one."""
    found = find_workstream(reader, name)
    if found is None:
        raise NotFound(f"there is no workstream {name}", f"git worker workstream create {name}")
    return found


def require_open(reader: Reader, name: str) -> Workstream:
    """Return a workstream that takes tasks; raise NotFound, or Refused if it has ended."""
    found = require_workstream(reader, name)
    if found.state not in OPEN:
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
    require_open(writer, name)
    if task.status not in NOT_STARTED:
        raise Refused(
            f"task {task.id} {status_words(task.status)}: only a task that has not started joins a"
            " workstream",
            f"git worker task show {task.id}",
            code="moved_on",
        )
    set_member(writer, name, task.id)
    for one in (name, task.workstream_id):
        if one is not None:
            follow_tasks(writer, one, actor=actor)


def ensure_workstream(writer: Writer, name: str) -> None:
    """Create a workstream that a plan names, if it does not exist."""
    if find_workstream(writer, name) is None:
        insert_workstream(writer, name, title="", validation=(), now=clock.now_ms())
