"""The records and enums of the model, with the documented fields and values."""

import dataclasses
from enum import StrEnum
from typing import Any

import pytest

from gitworker.model import agent, project, task, task_record, worker, workstream
from gitworker.model.message import MessageType

WORDS: dict[type[StrEnum], str] = {
    worker.WorkerState: "IDLE ASSIGNED WORKING IN_REVIEW APPROVED COMPLETED STALE FAILED",
    worker.WorkerEvent: (
        "assign start setup_failed submit fail heartbeat_timeout approve request_changes"
        " review_timeout merge merge_conflict verify_failed approval_withdrawn recover"
        " resume_review resume expire stop cancel reset recycle"
    ),
    task.TaskStatus: (
        "DEFINED READY ASSIGNED IN_PROGRESS WAITING_INPUT PAUSED VERIFYING AWAITING_APPROVAL"
        " COMPLETED FAILED BLOCKED CANCELLED"
    ),
    task.TaskEvent: (
        "DEPS_MET ASSIGNED AGENT_STARTED AGENT_COMPLETED AGENT_FAILED TOKENS_EXHAUSTED"
        " AGENT_QUESTION HUMAN_REPLIED INPUT_TIMEOUT RESUME_TIMER VERIFY_PASSED VERIFY_FAILED"
        " PR_CREATED PR_MERGED RETRY MAX_RETRIES ADMIN_SKIP ADMIN_STOP ADMIN_RESTART PR_CLOSED"
        " TIMEOUT EXECUTION_ERROR RECOVERY USER_CANCELLED"
    ),
    task.LifecycleState: "pending queued running validating completed failed retrying cancelled",
    task.VerificationType: "AUTO_TEST QA_AGENT HUMAN",
    agent.AgentState: "INITIALIZING IDLE STARTING BUSY PAUSED UNRESPONSIVE ERROR SHUTDOWN",
    agent.AgentEvent: (
        "registration_complete task_assigned agent_started launch_failed task_completed"
        " tokens_exhausted resume task_released health_check_timeout health_check_recovered"
        " health_check_resumed max_timeout_exceeded pause unpause shutdown_requested"
        " unrecoverable_error reset"
    ),
    agent.AgentResult: "COMPLETED FAILED PAUSED_TOKENS PAUSED_RATE_LIMIT",
    workstream.WorkstreamState: ("planned ready executing validating completed failed cancelled"),
    workstream.WorkstreamEvent: (
        "all_tasks_created first_task_started all_tasks_completed critical_task_failed"
        " validation_passed validation_failed user_cancelled"
    ),
    project.ProjectStatus: "ACTIVE PAUSED ARCHIVED",
    project.RepoSourceType: "CLONE LINK INIT",
}


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words.__name__)
def test_values_are_documented(words: type[StrEnum]) -> None:
    """An enum has the documented values in order, and its names are the values in capitals."""
    assert [word.value for word in words] == WORDS[words].split()
    assert [word.name for word in words] == [word.value.upper() for word in words]


def test_message_types_are_documented() -> None:
    """The bus knows these types of messages by name."""
    named = {value for name, value in vars(MessageType).items() if name.isupper()}
    assert named == {
        *("task_assign", "task_claim", "task_progress", "task_done", "task_failed", "task_blocked"),
        *("heartbeat", "state_change", "review_request", "review_result"),
        *("agent_started", "agent_stopped"),
        *("status", "log", "signal", "cmd"),
        *("agent_start", "tool_use", "error", "x-question"),
        *("conflict_warning", "x-window", "x-verify", "x-dead-letter"),
    }


RECORDS: list[tuple[type[Any], list[str], dict[str, Any]]] = [
    (
        project.RepoConfig,
        ["id", "project_id"],
        {
            "source_type": "CLONE",
            "url": "",
            "source_path": "",
            "default_branch": "main",
            "checkout_base_path": "",
        },
    ),
    (
        project.Project,
        ["id", "name"],
        {
            "credit_weight": 1.0,
            "max_concurrent_agents": 2,
            "status": "ACTIVE",
            "total_tokens_used": 0,
            "budget_limit": None,
            "discord_channel_id": None,
        },
    ),
    (
        task_record.Task,
        ["id", "project_id", "title", "description"],
        {
            "priority": 100,
            "status": "DEFINED",
            "verification_type": "AUTO_TEST",
            "retry_count": 0,
            "max_retries": 3,
            "parent_task_id": None,
            "repo_id": None,
            "assigned_agent_id": None,
            "branch_name": None,
            "resume_after": None,
            "requires_approval": False,
            "pr_url": None,
            "plan_source": None,
            "is_plan_subtask": False,
            "critical": True,
            "workstream_id": None,
        },
    ),
    (
        task_record.TaskContext,
        ["description"],
        {
            "acceptance_criteria": [],
            "test_commands": [],
            "checkout_path": "",
            "branch_name": "",
            "attached_context": [],
            "mcp_servers": [],
            "tools": [],
        },
    ),
    (
        agent.Agent,
        ["id", "name", "agent_type"],
        {
            "state": "IDLE",
            "current_task_id": None,
            "checkout_path": None,
            "repo_id": None,
            "pid": None,
            "last_heartbeat": None,
            "total_tokens_used": 0,
            "session_tokens_used": 0,
        },
    ),
    (
        agent.AgentOutput,
        ["result"],
        {"summary": "", "files_changed": [], "tokens_used": 0, "error_message": None},
    ),
]


@pytest.mark.parametrize(("record", "required", "defaults"), RECORDS)
def test_fields_and_defaults_are_documented(
    record: type[Any], required: list[str], defaults: dict[str, Any]
) -> None:
    """A record has the documented fields in order, with their defaults, and is frozen."""
    made = record(*required)
    assert [field.name for field in dataclasses.fields(record)] == [*required, *defaults]
    assert {name: getattr(made, name) for name in defaults} == defaults
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, required[0], "other")
    assert not hasattr(made, "__dict__")
