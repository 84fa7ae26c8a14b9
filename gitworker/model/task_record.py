"""The records of a task: the task model's fields and some of ours.

In a module of their own, since the definition of these classes costs every command 2 ms.
"""

from dataclasses import dataclass, field
from typing import Any

from gitworker.model.task import TaskStatus, VerificationType


@dataclass(frozen=True, slots=True)
class Task:
    """One unit of work. `resume_after` is seconds since the epoch; lower `priority` comes first."""

    id: str
    project_id: str
    title: str
    description: str
    priority: int = 100
    status: TaskStatus = TaskStatus.DEFINED
    verification_type: VerificationType = VerificationType.AUTO_TEST
    retry_count: int = 0
    max_retries: int = 3
    parent_task_id: str | None = None
    repo_id: str | None = None
    assigned_agent_id: str | None = None
    branch_name: str | None = None
    resume_after: float | None = None
    requires_approval: bool = False
    pr_url: str | None = None
    plan_source: str | None = None
    is_plan_subtask: bool = False
    critical: bool = True
    workstream_id: str | None = None


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The description of a task for its agent; built at dispatch, never stored."""

    description: str
    acceptance_criteria: list[str] = field(default_factory=list)
    test_commands: list[str] = field(default_factory=list)
    checkout_path: str = ""
    branch_name: str = ""
    attached_context: list[str] = field(default_factory=list)
    mcp_servers: list[dict[str, Any]] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
