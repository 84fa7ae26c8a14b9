"""The methods of the service for the queue of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.tasks.plan.import_plan import ImportedPlan
    from gitworker.tasks.queue.add_task import TaskInQueue
    from gitworker.tasks.queue.ready import ReadyTasks
    from gitworker.tasks.queue.rules_fields import TaskFields


class TaskMethods(ServiceBase):
    """The queue of tasks; see `WorkMethods` for the imports."""

    def add_task(
        self,
        task: str | None = None,
        fields: TaskFields | None = None,
        *,
        needs: Sequence[str] = (),
        held: bool = False,
        parent: str | None = None,
    ) -> TaskInQueue:
        """Add a task to the queue; READY if it waits for nothing, else DEFINED.

        Without `task` its id is made of the title, or of the text's first line. `needs` has tasks
        as `X`, which must land before, or `X:done`, which must be handed in. Raises Refused for an
        id that exists and for a cycle, NotFound for an unknown dependency.
        """
        from gitworker.model.ids import parse_task_id
        from gitworker.tasks.queue.add_task import NewTask, add_task
        from gitworker.tasks.queue.rules_fields import TaskFields
        from gitworker.tasks.queue.rules_needs import parse_needs

        new = NewTask(
            None if task is None else parse_task_id(task), fields or TaskFields(),
            parse_needs(needs), held, parent,
        )  # fmt: skip
        with self._acting() as session:
            return add_task(session, new)

    def import_plan(self, path: str, *, parent: str | None = None) -> ImportedPlan:
        """Add the tasks of a plan to the queue, all or nothing; with `parent` as its subtasks.

        A second import adds new tasks and updates those that have not started. Raises Invalid for a
        bad plan, Refused for a cycle and for the id of another task; the message names the line.
        """
        from gitworker.tasks.plan.import_plan import import_plan

        with self._acting() as session:
            return import_plan(session, path, parent=parent)

    def depend(self, task: str, needs: Sequence[str], *, drop: bool = False) -> TaskInQueue:
        """Let a task that has not started wait for others; with `drop`, no longer.

        `needs` is as for `add_task`. Raises Refused for a cycle, which it names.
        """
        from gitworker.tasks.queue.add_task import depend
        from gitworker.tasks.queue.rules_needs import parse_needs

        with self._acting() as session:
            return depend(session, task, parse_needs(needs), drop=drop)

    def ready_tasks(self, limit: int = 50) -> ReadyTasks:
        """Return the first tasks that may start now, in the order in which they would."""
        from gitworker.tasks.queue.ready import read_ready

        with self._reading() as session:
            return read_ready(session, limit)

    def hold_task(self, task: str, *, held: bool = True) -> TaskInQueue:
        """Keep a task from being started, or release it."""
        from gitworker.tasks.queue.hold import hold

        with self._acting() as session:
            return hold(session, task, held=held)
