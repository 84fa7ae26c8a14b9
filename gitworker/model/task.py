"""The statuses and events of a task: those of the task model, and USER_CANCELLED."""

from enum import StrEnum


class TaskStatus(StrEnum):
    """The status of a task."""

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
    """An event of a task."""

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
    """The state of a task in the lifecycle view, as the transition log names it."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    VALIDATING = "validating"
    COMPLETED = "completed"
    FAILED = "failed"
    RETRYING = "retrying"
    CANCELLED = "cancelled"


class VerificationType(StrEnum):
    """The verifier of a task's output."""

    AUTO_TEST = "AUTO_TEST"
    QA_AGENT = "QA_AGENT"
    HUMAN = "HUMAN"
