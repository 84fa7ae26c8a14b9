"""The states and events of the worker machine."""

from enum import StrEnum


class WorkerState(StrEnum):
    """The state of a worker and of its work on the one task that it holds."""

    IDLE = "IDLE"
    ASSIGNED = "ASSIGNED"
    WORKING = "WORKING"
    IN_REVIEW = "IN_REVIEW"
    APPROVED = "APPROVED"
    COMPLETED = "COMPLETED"
    STALE = "STALE"
    FAILED = "FAILED"


class WorkerEvent(StrEnum):
    """An event of a worker: a command, or a condition that a command detected."""

    ASSIGN = "assign"
    START = "start"
    SETUP_FAILED = "setup_failed"
    SUBMIT = "submit"
    FAIL = "fail"
    HEARTBEAT_TIMEOUT = "heartbeat_timeout"
    APPROVE = "approve"
    REQUEST_CHANGES = "request_changes"
    REVIEW_TIMEOUT = "review_timeout"
    MERGE = "merge"
    MERGE_CONFLICT = "merge_conflict"
    VERIFY_FAILED = "verify_failed"
    APPROVAL_WITHDRAWN = "approval_withdrawn"
    RECOVER = "recover"
    RESUME_REVIEW = "resume_review"
    RESUME = "resume"
    EXPIRE = "expire"
    STOP = "stop"
    CANCEL = "cancel"
    RESET = "reset"
    RECYCLE = "recycle"


class ReturnReason(StrEnum):
    """The reason for which work came back to its author."""

    CHANGES_REQUESTED = "changes_requested"
    MERGE_CONFLICT = "merge_conflict"
    VERIFY_FAILED = "verify_failed"
    WITHDRAWN = "withdrawn"


# A supervisor or a run starts the agent again for these; an undo is a person's decision.
AUTOMATIC_RETURNS = frozenset(ReturnReason) - {ReturnReason.WITHDRAWN}
