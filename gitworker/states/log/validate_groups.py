"""The format's invariants for workstreams and agents, which have several tasks.

Not checked, because a log does not show them: heartbeats (only idle and busy agents send them),
released resources, and the archive of a failed workstream.
"""

from collections.abc import Iterator

from gitworker.model.agent import AgentEvent
from gitworker.model.task import LifecycleState as V
from gitworker.model.workstream import WorkstreamState
from gitworker.states.log.log_schema import LogLine
from gitworker.states.log.validate_tasks import TaskFacts

Fault = tuple[str, str]
BUSY = "busy"


class GroupRules:
    """The rules about the tasks of a workstream or of an agent."""

    def __init__(self, tasks: dict[str, TaskFacts]) -> None:
        self.tasks = tasks
        self.members: dict[str, set[str]] = {}
        self.running: dict[str, set[str]] = {}
        self.limits: dict[str, int] = {}

    def note_task(self, entry: LogLine, task_id: str) -> Iterator[Fault]:
        """Record the task's workstream and agent; yield a fault if the agent has too many tasks."""
        self._note_workstream(entry, task_id)
        facts = self.tasks[task_id]
        if facts.worker is not None:
            self.running[facts.worker].discard(task_id)
        facts.worker = entry.text_of("worker_id") if entry.to_state == V.RUNNING else None
        if facts.worker is None:
            return
        at_work = self.running.setdefault(facts.worker, set())
        at_work.add(task_id)
        limit = self.limits.get(facts.worker)
        if limit is not None and len(at_work) > limit:
            yield "capacity-limit", f"{facts.worker} runs {len(at_work)} tasks, {limit} allowed"

    def check_workstream(self, entry: LogLine) -> Iterator[Fault]:
        """Yield a fault if the workstream's step contradicts its tasks."""
        members = {name: self.tasks[name] for name in self.members.get(entry.entity, ())}
        if not members:
            return
        if entry.to_state == WorkstreamState.EXECUTING:
            if not any(task.has_started for task in members.values()):
                yield "task-state-consistency", f"no task of {entry.entity} has started"
        elif entry.to_state in (WorkstreamState.VALIDATING, WorkstreamState.COMPLETED):
            dropped = entry.names_of("dropped")
            for name, task in sorted(members.items()):
                if not task.is_done and name not in dropped:
                    yield "completion-requirement", f"{name} of {entry.entity} is {task.state}"
        elif entry.trigger == "critical_task_failed" and not any(
            task.critical and task.has_failed for task in members.values()
        ):
            yield "failure-propagation", f"no critical task of {entry.entity} has failed"

    def check_agent(self, entry: LogLine) -> Iterator[Fault]:
        """Yield a fault if the agent exceeds its limit, or shuts down with running tasks."""
        limit, count = entry.int_of("max_concurrent_tasks"), entry.int_of("task_count")
        if limit is not None:
            self.limits[entry.entity] = limit
            if entry.to_state == BUSY and count is not None and count > limit:
                yield "capacity-limit", f"{entry.entity} has {count} tasks, {limit} allowed"
        asked = entry.trigger == AgentEvent.SHUTDOWN_REQUESTED
        left = self.running.get(entry.entity)
        if asked and entry.from_state == BUSY and left:
            yield "graceful-shutdown", f"{entry.entity} shuts down with {', '.join(sorted(left))}"

    def _note_workstream(self, entry: LogLine, task_id: str) -> None:
        if "workstream_id" not in entry.metadata:
            return
        facts = self.tasks[task_id]
        if facts.workstream is not None:
            self.members[facts.workstream].discard(task_id)
        facts.workstream = entry.text_of("workstream_id")
        if facts.workstream is not None:
            self.members.setdefault(facts.workstream, set()).add(task_id)
