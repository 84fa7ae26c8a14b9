"""task import: bring the tasks of a plan into the queue, all or nothing.

An import again is harmless: unchanged tasks stay, new ones are added, and a change of a task that
has not started replaces it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.bus.steps.workstream import follow_tasks
from gitworker.errors import Refused
from gitworker.model.task_spec import TaskSpec
from gitworker.observe.text import few_files
from gitworker.rules_text import count_text
from gitworker.store.planning.workstreams import has_branches
from gitworker.store.records.task_needs import all_needs, change_needs, insert_needs, needs_of
from gitworker.store.records.task_specs import (
    find_task_spec,
    insert_task_spec,
    update_task_spec,
)
from gitworker.store.scheduling.projects import DEFAULT, all_projects
from gitworker.store.tasks import all_task_ids, require_stored_task
from gitworker.tasks.plan.read_plan import ISSUES, read_plan
from gitworker.tasks.plan.rules_import import (
    Fate,
    fate_of,
    is_unstarted,
    require_agents,
    require_projects,
    require_sound,
    stranger_refusal,
    wanted_spec,
)
from gitworker.tasks.projects.change_project import require_takes_tasks
from gitworker.tasks.projects.rules_project import task_refusal
from gitworker.tasks.queue.add_task import (
    require_commands_of_person,
    require_may_change,
    require_task,
)
from gitworker.tasks.queue.join import (
    ensure_workstream,
    require_may_join,
    require_one_target,
    require_open,
)
from gitworker.tasks.queue.promote import promote, publish_changes
from gitworker.tasks.queue.rules_needs import need_refusal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitworker.model.task_spec import Need
    from gitworker.session import Session
    from gitworker.store.api import Writer
    from gitworker.tasks.plan.rules_plan import PlannedTask


class ImportedPlan(NamedTuple):
    """The tasks of a plan in its order, each with the effect of the import.

    `is_trial`: nothing was changed.
    """

    source: str
    fates: tuple[tuple[str, Fate], ...]
    is_trial: bool = False

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the ids of all open tasks of the plan."""
        return tuple(task for task, _ in self.fates)

    def with_fate(self, fate: Fate) -> tuple[str, ...]:
        """Return the ids of the tasks with this effect."""
        return tuple(task for task, found in self.fates if found is fate)


class _Trial(Exception):
    """Rolls the changes of an import back."""


def import_plan(
    session: Session,
    path: str,
    *,
    parent: str | None = None,
    agents: Collection[str] | None = None,
    project: str | None = None,
    is_trial: bool = False,
) -> ImportedPlan:
    """Bring the tasks of a plan into the queue; with `parent` they are its subtasks.

    `agents` are the known ones, if they are to be checked; `project` is that of tasks that name
    none. Nothing is changed if anything is wrong, or by a trial.
    Raises NotFound for an unreadable file, Invalid for a bad plan, Refused for a cycle and for the
    id of another task; the message names the line. Raises Refused for test commands of a worker and
    for a change of its own order.
    """
    planned = read_plan(path)
    if agents is not None:
        require_agents(planned, agents)
    source = _source(session, path)
    base = TaskSpec(
        "", max_retries=session.settings.task_max_retries, parent_task_id=parent,
        is_plan_subtask=parent is not None, project_id=project or DEFAULT,
    )  # fmt: skip
    fresh = [
        wanted_spec(base, task, source=source, position=position)
        for position, task in enumerate(planned)
    ]
    with suppress(_Trial), session.store.write() as writer:
        if parent is not None:
            require_task(writer, parent)
        known = frozenset(all_task_ids(writer))
        require_sound(planned, known, all_needs(writer))
        require_takes_tasks(writer, base.project_id)
        open_ids = [one.id for one in all_projects(writer) if task_refusal(one.id, one, ()) is None]
        require_projects(planned, open_ids)
        now = clock.now_ms()
        named = sorted({one.workstream_id for one in fresh if one.workstream_id is not None})
        for name in named:
            ensure_workstream(writer, name)
        fates = tuple(
            (task.id, _bring(session, writer, task, spec, known=known, now=now))
            for task, spec in zip(planned, fresh, strict=True)
        )
        new = {spec.id for spec in fresh} - known
        for task in planned if has_branches(writer) else ():
            require_one_target(writer, task.id, new=new)
        for name in named:
            follow_tasks(writer, name, actor=session.actor)
        promote(writer, actor=session.actor)
        if is_trial:
            raise _Trial
    publish_changes(session)
    return ImportedPlan(source, fates, is_trial)


def render_imported(found: ImportedPlan, *, width: int | None, color: bool) -> str:
    """Return one line for each effect."""
    words = {
        Fate.ADDED: "would add {}: {}" if found.is_trial else "added {}: {}",
        Fate.UPDATED: "would update {}: {}" if found.is_trial else "updated {}: {}",
        Fate.STARTED: "{} started before the plan changed: {}",
    }
    lines = [
        line.format(count_text(len(names), "task"), few_files(names))
        for fate, line in words.items()
        if (names := found.with_fate(fate))
    ]
    same = len(found.with_fate(Fate.UNCHANGED))
    return "\n".join([*lines, f"{count_text(same, 'task')} unchanged"] if same else lines)


def json_imported(found: ImportedPlan) -> dict[str, Any]:
    """Return the tasks by effect as JSON data."""
    fates = {fate.value: list(found.with_fate(fate)) for fate in Fate}
    return {"plan": found.source, "dry_run": found.is_trial, **fates}


def _bring(
    session: Session,
    writer: Writer,
    task: PlannedTask,
    fresh: TaskSpec,
    *,
    known: frozenset[str],
    now: int,
) -> Fate:
    """Add or update one task of the plan; `known` are the tasks that existed before the import."""
    if task.id not in known:
        _require_living(writer, task, [need for need in task.needs if need.task in known])
        if fresh.workstream_id is not None:
            require_open(writer, fresh.workstream_id)
        require_commands_of_person(session, fresh.test_commands)
        insert_task_spec(writer, fresh, now)
        insert_needs(writer, task.id, task.needs)
        return Fate.ADDED
    old = find_task_spec(writer, task.id) or fresh
    refusal = stranger_refusal(old, fresh, task.line)
    if refusal is not None:
        raise refusal
    wanted = wanted_spec(old, task, source=fresh.plan_source, position=fresh.position)
    needs = needs_of(writer, task.id)
    same_needs = not task.names_needs or set(needs) == set(task.needs)
    if wanted == old and same_needs:
        return Fate.UNCHANGED
    status = require_stored_task(writer, task.id).status
    fate = fate_of(old, wanted, status, same_needs=same_needs)
    if is_unstarted(status):
        require_may_change(session, writer, old, wanted)
        new = [need for need in task.needs if need.task in known and need not in needs]
        _require_living(writer, task, new)
        if wanted.workstream_id not in (None, old.workstream_id):
            found = require_open(writer, str(wanted.workstream_id))
            require_may_join(writer, found, require_stored_task(writer, task.id))
        update_task_spec(writer, wanted)
        if task.names_needs:
            change_needs(writer, task.id, task.needs)
    return fate


def _require_living(writer: Writer, task: PlannedTask, needs: Iterable[Need]) -> None:
    """Raise Refused if the task gets a need that was cancelled."""
    for need in needs:
        refusal = need_refusal(task.id, need, require_stored_task(writer, need.task).status)
        if refusal is not None:
            raise Refused(f"line {task.line}: {refusal.message}", refusal.hint, code=refusal.code)


def _source(session: Session, path: str) -> str:
    """Return the name of the plan: relative to the main checkout if it is inside."""
    if path.startswith(ISSUES):
        return path
    full = os.path.realpath(path)
    top = os.path.realpath(session.main_top)
    return os.path.relpath(full, top) if full.startswith(f"{top}/") else full
