"""The methods of the service for the queue of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.service.talk import TalkMethods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session
    from gitworker.tasks.plan.import_plan import ImportedPlan
    from gitworker.tasks.queue.add_task import TaskInQueue
    from gitworker.tasks.queue.ready import ReadyTasks
    from gitworker.tasks.queue.rules_fields import TaskFields
    from gitworker.tasks.views.graph import TaskGraph
    from gitworker.tasks.views.show_task import ShownTask
    from gitworker.tasks.views.task_facts import TaskWhy
    from gitworker.workers.task_verbs.change import ChangedTask


class TaskMethods(TalkMethods):
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
        id that exists and for a cycle, NotFound for an unknown dependency or agent.
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
            _require_agent(session, new.fields)
            return add_task(session, new)

    def import_plan(
        self,
        path: str,
        *,
        parent: str | None = None,
        project: str | None = None,
        is_trial: bool = False,
    ) -> ImportedPlan:
        """Add the tasks of a plan to the queue, all or nothing; with `parent` as its subtasks.

        `project` is that of tasks that name none. A trial reports the effects and changes nothing.

        A second import adds new tasks and updates those that have not started. Raises Invalid for a
        bad plan, Refused for a cycle and for the id of another task; the message names the line.
        """
        from gitworker.agents.adapters.find_adapter import agent_names
        from gitworker.tasks.plan.import_plan import import_plan

        with self._acting() as session:
            return import_plan(
                session, path, parent=parent, agents=agent_names(session), project=project,
                is_trial=is_trial,
            )  # fmt: skip

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

    def edit_task(self, task: str, fields: TaskFields) -> ChangedTask:
        """Change the given fields of a task that has not ended."""
        from gitworker.workers.task_verbs.change import edit_task

        with self._acting() as session:
            _require_agent(session, fields)
            return edit_task(session, task, fields)

    def show_task(self, task: str) -> ShownTask:
        """Return everything about one task."""
        from gitworker.tasks.views.show_task import read_task

        with self._reading() as session:
            return read_task(session, task)

    def why_task(self, task: str) -> TaskWhy:
        """Return why a task is not running, and the command that helps."""
        from gitworker.tasks.views.task_facts import read_why

        with self._reading() as session:
            return read_why(session, task)

    def task_graph(self, task: str | None = None, *, every: bool = False) -> TaskGraph:
        """Return the tasks that have not ended with their needs, all, or those around one."""
        from gitworker.tasks.views.graph import read_graph

        with self._reading() as session:
            return read_graph(session, task, every=every)

    def restart_task(self, task: str) -> ChangedTask:
        """Put a task back into the queue; a worker that has it is freed, its work is kept."""
        from gitworker.workers.task_verbs.change import restart_task

        with self._acting() as session:
            return restart_task(session, task)

    def stop_task(self, task: str, *, reason: str = "stopped by a person") -> ChangedTask:
        """Stop work on a task: it becomes BLOCKED, and branch and worktree stay.

        If an agent is running, it gets the order to stop, and the status changes once it has ended.
        """
        from gitworker.workers.task_verbs.change import (
            ChangedTask,
            has_open_run,
            require_stoppable,
            stop_task,
        )

        reason = self._without_secrets(reason)
        with self._acting() as session:
            worker = require_stoppable(session, task)
            if worker is None or not has_open_run(session, worker):
                return stop_task(session, task, reason=reason)
        self.order(worker.worker_id, "stop", reason=reason)
        return ChangedTask(task, self.show_task(task).stored.status, worker.worker_id, None, True)

    def skip_task(self, task: str) -> ChangedTask:
        """Record a failed or blocked task as COMPLETED without its work."""
        from gitworker.workers.task_verbs.change import skip_task

        with self._acting() as session:
            return skip_task(session, task)

    def cancel_task(self, task: str) -> ChangedTask:
        """Withdraw a task; a worker that has it is freed, its work is kept."""
        from gitworker.workers.task_verbs.change import cancel_task

        with self._acting() as session:
            return cancel_task(session, task)


def _require_agent(session: Session, fields: TaskFields) -> None:
    """Raise NotFound if a task wants an agent that does not exist, so that nothing could run it."""
    if fields.agent:
        from gitworker.agents.adapters.find_adapter import agent_names, find_adapter

        if fields.agent not in agent_names(session):
            find_adapter(session, fields.agent)
