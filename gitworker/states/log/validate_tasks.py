"""The format's invariants for tasks, checked line by line."""

from collections.abc import Iterator
from dataclasses import dataclass

from gitworker.model.task import LifecycleState as V
from gitworker.model.task import TaskStatus
from gitworker.states.log.log_schema import LogLine

Fault = tuple[str, str]
NOT_STARTED = frozenset({V.PENDING, V.QUEUED, V.CANCELLED})


@dataclass(slots=True)
class TaskFacts:
    """The known facts of one task, over all its incarnations."""

    state: str = V.PENDING
    status: str | None = None
    has_started: bool = False
    has_completed: bool = False
    waives_dependencies: bool = False
    critical: bool = True
    workstream: str | None = None
    worker: str | None = None
    retry_count: int | None = None
    max_retries: int | None = None

    @property
    def has_failed(self) -> bool:
        """Return whether the task failed; one that was BLOCKED before it ran ends as cancelled."""
        return self.state == V.FAILED or self.status == TaskStatus.BLOCKED

    @property
    def is_done(self) -> bool:
        """Return whether the workstream need not wait: completed, or cancelled by a person."""
        cancelled = self.state == V.CANCELLED and self.status != TaskStatus.BLOCKED
        return self.state == V.COMPLETED or cancelled


class TaskRules:
    """The rules for task lines; the facts are shared with the rules for groups of tasks."""

    def __init__(self, tasks: dict[str, TaskFacts]) -> None:
        self.tasks = tasks

    def check(self, entry: LogLine, task_id: str) -> Iterator[Fault]:
        """Record the line's facts and yield the rules that it breaks."""
        facts = self.tasks.setdefault(task_id, TaskFacts())
        yield from _check_retries(entry, facts)
        _record_facts(facts, entry)
        yield from _check_worker(entry)
        yield from _check_times(entry)
        if entry.to_state == V.QUEUED and not facts.waives_dependencies:
            yield from self._check_dependencies(entry)

    def _check_dependencies(self, entry: LogLine) -> Iterator[Fault]:
        for needed in sorted(entry.names_of("dependencies")):
            known = self.tasks.get(needed)
            if known is None or not known.has_completed:
                yield (
                    "dependency-satisfaction",
                    f"{entry.entity} is queued before {needed} has completed",
                )


def _record_facts(facts: TaskFacts, entry: LogLine) -> None:
    facts.state = entry.to_state
    facts.status = entry.text_of("status")
    facts.has_started |= entry.to_state not in NOT_STARTED or facts.has_failed
    facts.has_completed |= entry.to_state == V.COMPLETED
    facts.waives_dependencies |= entry.metadata.get("waived") == "dependencies"
    if isinstance(critical := entry.metadata.get("critical"), bool):
        facts.critical = critical
    if (count := entry.int_of("retry_count")) is not None:
        facts.retry_count = count
    if (limit := entry.int_of("max_retries")) is not None:
        facts.max_retries = limit


def _check_worker(entry: LogLine) -> Iterator[Fault]:
    worker = entry.text_of("worker_id")
    if worker is not None and entry.to_state != V.RUNNING:
        yield "worker-assignment", f"a {entry.to_state} task has no worker, here {worker}"


def _check_retries(entry: LogLine, before: TaskFacts) -> Iterator[Fault]:
    """Check the limit, and that a task with no retries left is not retried.

    The count on a line to `retrying` may include this retry already, so the last known one decides.
    """
    count = entry.int_of("retry_count")
    limit = entry.int_of("max_retries")
    limit = before.max_retries if limit is None else limit
    if limit is None:
        return
    if count is not None and count > limit:
        yield "retry-limit", f"retry_count {count} exceeds max_retries {limit}"
    elif (entry.from_state, entry.to_state) == (V.RUNNING, V.RETRYING):
        used = count if before.retry_count is None else before.retry_count
        if used is not None and used >= limit:
            yield "retry-limit", f"{entry.entity} is retried after {used} of {limit} retries"


def _check_times(entry: LogLine) -> Iterator[Fault]:
    keys = ("created_at", "started_at", "completed_at")
    known = [(key, at) for key in keys if (at := entry.time_of(key)) is not None]
    for (earlier, before), (later, after) in zip(known, known[1:], strict=False):
        if after < before:
            yield "timestamp-ordering", f"{later} is before {earlier}"
