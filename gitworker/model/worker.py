"""The words of the worker machine: the states of a seat and what can happen to it (seed 1)."""

from enum import StrEnum


class WorkerState(StrEnum):
    """Where a seat stands with the one task it holds."""

    IDLE = "IDLE"
    ASSIGNED = "ASSIGNED"
    WORKING = "WORKING"
    IN_REVIEW = "IN_REVIEW"
    APPROVED = "APPROVED"
    COMPLETED = "COMPLETED"
    STALE = "STALE"
    FAILED = "FAILED"


class WorkerEvent(StrEnum):
    """What can happen to a seat: the verbs of the command line and what is detected."""

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
    EXPIRE = "expire"
    STOP = "stop"
    CANCEL = "cancel"
    RESET = "reset"
    RECYCLE = "recycle"
