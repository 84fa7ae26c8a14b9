"""task add and task depend: put a task into the queue, and let it wait for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.bus.transitions import move_task
from gitworker.errors import Invalid, NotFound, Refused
from gitworker.model.ids import RESERVED, TaskId
from gitworker.model.task import TaskEvent, TaskStatus
from gitworker.model.task_spec import Need, OpenNeed, TaskSpec
from gitworker.store.records.task_needs import (
    all_needs,
    change_needs,
    leads_to,
    needs_of,
    open_needs_of,
)
from gitworker.store.records.task_specs import insert_task_spec
from gitworker.store.tasks import StoredTask, all_task_ids, find_task, require_stored_task
from gitworker.store.workers import find_worker_of_task
from gitworker.tasks.projects.change_project import require_takes_tasks
from gitworker.tasks.queue.join import join, require_one_target
from gitworker.tasks.queue.promote import publish_changes
from gitworker.tasks.queue.rules_fields import (
    TaskFields,
    changed_fields,
    own_edit_refusal,
    with_fields,
)
from gitworker.tasks.queue.rules_needs import (
    cycle_refusal,
    find_cycle,
    is_defined,
    need_refusal,
    need_text,
    needs_refusal,
    require_one_stack,
)
from gitworker.tasks.rules_task_id import free_task_id, slug_of, two_words
from gitworker.tasks.rules_task_list import json_blocked_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session
    from gitworker.store.api import Reader, Writer


class NewTask(NamedTuple):
    """A task to add; without an id it gets one of its title, or of its text's first line."""

    task: TaskId | None = None
    fields: TaskFields = TaskFields()
    needs: tuple[Need, ...] = ()
    held: bool = False
    parent: str | None = None


class TaskInQueue(NamedTuple):
    """A task of the queue, and the tasks that it still waits for."""

    task: str
    title: str
    status: TaskStatus
    held: bool
    needs: tuple[Need, ...]
    waits_for: tuple[OpenNeed, ...]


def add_task(session: Session, new: NewTask) -> TaskInQueue:
    """Add a task: READY if it waits for nothing, else DEFINED.

    Raises Refused for an id that exists, for a cycle, for a dependency that was cancelled, and for
    test commands of a worker; NotFound for an unknown dependency; Invalid for a value that no task
    can have.
    """
    defaults = TaskSpec(
        "", held=new.held, parent_task_id=new.parent, max_retries=session.settings.task_max_retries,
    )  # fmt: skip
    spec = with_fields(defaults, new.fields)
    require_commands_of_person(session, spec.test_commands)
    with session.store.write() as writer:
        task = new.task or _new_id(writer, spec)
        if find_task(writer, task) is not None:
            raise Refused(
                f"task {task} exists already", f"git worker task show {task}", code="task_exists"
            )
        if new.parent is not None and find_task(writer, new.parent) is None:
            raise NotFound(f"there is no task {new.parent}", "git worker task list")
        require_takes_tasks(writer, spec.project_id)
        insert_task_spec(writer, spec._replace(id=task, workstream_id=None), clock.now_ms())
        set_needs(writer, task, new.needs)
        if spec.workstream_id is not None:
            join(writer, spec.workstream_id, require_stored_task(writer, task), actor=session.actor)
        require_one_target(writer, task, new=(task,))
        promote_if_free(writer, task, actor=session.actor)
        added = in_queue(writer, task)
    publish_changes(session)
    return added


def require_commands_of_person(session: Session, commands: Sequence[str]) -> None:
    """Raise Refused if a worker gives commands: they run with the user's rights, in no sandbox."""
    if commands and session.actor not in RESERVED:
        raise Refused(
            f"worker {session.actor} cannot give test commands: they run outside its sandbox",
            code="not_allowed",
        )


def require_may_change(session: Session, reader: Reader, old: TaskSpec, new: TaskSpec) -> None:
    """Raise Refused if a worker changes test commands, or the order of the task that it has."""
    changed = changed_fields(old, new)
    worker = find_worker_of_task(reader, old.id)
    if worker is not None and worker.worker_id == session.actor:
        refusal = own_edit_refusal(old.id, session.actor, changed)
        if refusal is not None:
            raise refusal
    if "test_commands" in changed:
        require_commands_of_person(session, (*old.test_commands, *new.test_commands))


def depend(
    session: Session, task: str, needs: Sequence[Need], *, drop: bool = False
) -> TaskInQueue:
    """Let a task wait for others as well; with `drop`, let it wait for them no longer.

    A READY task with a new open dependency is not started until it is satisfied. Raises as
    `add_task`, Invalid for a second task to stack on, and Refused for a task that has started.
    """
    with session.store.write() as writer:
        stored = require_task(writer, task)
        refusal = needs_refusal(task, stored.status)
        if refusal is not None:
            raise refusal
        known = {need.task: need for need in needs_of(writer, task)}
        for need in needs:
            if drop:
                known.pop(need.task, None)
            else:
                known[need.task] = need
        if not drop:
            require_one_stack(known.values())
        set_needs(writer, task, tuple(known.values()))
        require_one_target(writer, task)
        promote_if_free(writer, task, actor=session.actor)
        changed = in_queue(writer, task)
    publish_changes(session)
    return changed


def set_needs(writer: Writer, task: str, needs: Sequence[Need]) -> None:
    """Give a task these needs and no others; raise if one is unknown, dead or closes a cycle."""
    known = set(needs_of(writer, task))
    for need in needs:
        if need in known:
            continue
        found = find_task(writer, need.task)
        refusal = need_refusal(task, need, found.status if found else None)
        if refusal is None and leads_to(writer, need.task, task):
            refusal = _cycle(writer, task, need)
        if refusal is not None:
            raise refusal
    change_needs(writer, task, needs)


def promote_if_free(writer: Writer, task: str, *, actor: str) -> None:
    """Make a task READY if it waits for nothing; others are promoted by `promote`."""
    stored = require_stored_task(writer, task)
    if is_defined(stored.status) and not open_needs_of(writer, task):
        move_task(writer, stored, (TaskEvent.DEPS_MET,), actor=actor)


def require_task(reader: Reader, task: str) -> StoredTask:
    """Return a task; raise NotFound for an unknown one."""
    found = find_task(reader, task)
    if found is None:
        raise NotFound(f"there is no task {task}", "git worker task list")
    return found


def in_queue(reader: Reader, task: str) -> TaskInQueue:
    """Return a task of the queue."""
    stored = require_task(reader, task)
    waits_for = tuple(open_needs_of(reader, task))
    return TaskInQueue(
        task, stored.title, stored.status, stored.held, tuple(needs_of(reader, task)), waits_for
    )


def json_task_in_queue(found: TaskInQueue) -> dict[str, Any]:
    """Return the task as JSON data."""
    return {
        "task": found.task, "title": found.title, "status": found.status.value,
        "held": found.held, "needs": [need_text(need) for need in found.needs],
        "blocked_by": json_blocked_by(found.waits_for),
    }  # fmt: skip


def _new_id(reader: Reader, spec: TaskSpec) -> TaskId:
    import os  # for two random words only

    if not spec.title and not spec.text:
        raise Invalid(
            "a task needs an id, a title or a text", "git worker task add -m <text>", code="usage"
        )
    wanted = slug_of(spec.title, spec.text) or two_words(int.from_bytes(os.urandom(8)))
    return free_task_id(wanted, all_task_ids(reader))


def _cycle(reader: Reader, task: str, need: Need) -> Refused | None:
    graph = {one: [other.task for other in needs] for one, needs in all_needs(reader).items()}
    graph.setdefault(task, []).append(need.task)
    cycle = find_cycle(graph, task)
    return cycle_refusal(cycle) if cycle else None
