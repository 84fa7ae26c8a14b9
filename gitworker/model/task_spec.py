"""A task as its author describes it, and its dependencies."""

from typing import NamedTuple

from gitworker.model.task import TaskStatus, VerificationType

LANDED, DONE = "landed", "done"  # until when a task waits


class Need(NamedTuple):
    """A task that another one needs, `until` it has landed or is done, that is handed in."""

    task: str
    until: str = LANDED


class OpenNeed(NamedTuple):
    """A need that is not satisfied; a `status` of None means that the task does not exist."""

    task: str
    until: str
    status: TaskStatus | None


class TaskSpec(NamedTuple):
    """A task as its author describes it; lower `priority` comes first.

    `paths` are the paths that it will change, `agent` the agent that does it, `position` its
    place in the plan `plan_source`. A `held` task is not started. `capabilities` are those that its
    agent must have, `budget_tokens` the tokens that its agents may use.
    """

    id: str
    title: str = ""
    text: str = ""
    priority: int = 100
    verification_type: VerificationType = VerificationType.AUTO_TEST
    max_retries: int = 3
    requires_approval: bool = False
    acceptance_criteria: tuple[str, ...] = ()
    test_commands: tuple[str, ...] = ()
    attached_context: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    timeout_s: int | None = None
    agent: str | None = None
    held: bool = False
    critical: bool = True
    parent_task_id: str | None = None
    plan_source: str | None = None
    is_plan_subtask: bool = False
    workstream_id: str | None = None
    project_id: str = "default"
    position: int = 0
    capabilities: tuple[str, ...] = ()
    budget_tokens: int | None = None
