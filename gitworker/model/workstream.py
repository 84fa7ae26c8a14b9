"""The states and events of a workstream: a named group of tasks that ends together."""

from enum import StrEnum
from typing import NamedTuple

from gitworker.model.task import TaskStatus


class WorkstreamState(StrEnum):
    """The state of a workstream; the transition log's format has the values in lower case."""

    PLANNED = "planned"
    READY = "ready"
    EXECUTING = "executing"
    VALIDATING = "validating"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class WorkstreamEvent(StrEnum):
    """An event of a workstream."""

    ALL_TASKS_CREATED = "all_tasks_created"
    FIRST_TASK_STARTED = "first_task_started"
    ALL_TASKS_COMPLETED = "all_tasks_completed"
    CRITICAL_TASK_FAILED = "critical_task_failed"
    VALIDATION_PASSED = "validation_passed"
    VALIDATION_FAILED = "validation_failed"
    USER_CANCELLED = "user_cancelled"


class Member(NamedTuple):
    """A task of a workstream."""

    id: str
    title: str
    status: TaskStatus
    critical: bool
    retry_count: int
    assigned_agent_id: str | None
    started_at_ms: int | None
    completed_at_ms: int | None
    last_error: str | None
