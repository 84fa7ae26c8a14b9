"""The words of a task: seed 4's statuses and events, and what was added."""

from enum import StrEnum


class TaskStatus(StrEnum):
    """Where a task stands; it holds exactly one of these at any moment."""

    DEFINED = "DEFINED"
    READY = "READY"
    ASSIGNED = "ASSIGNED"
    IN_PROGRESS = "IN_PROGRESS"
    WAITING_INPUT = "WAITING_INPUT"
    PAUSED = "PAUSED"
    VERIFYING = "VERIFYING"
    AWAITING_APPROVAL = "AWAITING_APPROVAL"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    BLOCKED = "BLOCKED"
    CANCELLED = "CANCELLED"


class TaskEvent(StrEnum):
    """What can happen to a task."""

    DEPS_MET = "DEPS_MET"
    ASSIGNED = "ASSIGNED"
    AGENT_STARTED = "AGENT_STARTED"
    AGENT_COMPLETED = "AGENT_COMPLETED"
    AGENT_FAILED = "AGENT_FAILED"
    TOKENS_EXHAUSTED = "TOKENS_EXHAUSTED"
    AGENT_QUESTION = "AGENT_QUESTION"
    HUMAN_REPLIED = "HUMAN_REPLIED"
    INPUT_TIMEOUT = "INPUT_TIMEOUT"
    RESUME_TIMER = "RESUME_TIMER"
    VERIFY_PASSED = "VERIFY_PASSED"
    VERIFY_FAILED = "VERIFY_FAILED"
    PR_CREATED = "PR_CREATED"
    PR_MERGED = "PR_MERGED"
    RETRY = "RETRY"
    MAX_RETRIES = "MAX_RETRIES"
    ADMIN_SKIP = "ADMIN_SKIP"
    ADMIN_STOP = "ADMIN_STOP"
    ADMIN_RESTART = "ADMIN_RESTART"
    PR_CLOSED = "PR_CLOSED"
    TIMEOUT = "TIMEOUT"
    EXECUTION_ERROR = "EXECUTION_ERROR"
    RECOVERY = "RECOVERY"
    USER_CANCELLED = "USER_CANCELLED"


class LifecycleState(StrEnum):
    """Where a task stands in the lifecycle view, the words of the log (seed 3)."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    VALIDATING = "validating"
    COMPLETED = "completed"
    FAILED = "failed"
    RETRYING = "retrying"
    CANCELLED = "cancelled"


class VerificationType(StrEnum):
    """Who says that a task's output is right."""

    AUTO_TEST = "AUTO_TEST"
    QA_AGENT = "QA_AGENT"
    HUMAN = "HUMAN"
