"""A transition as people read it: the states in words, and the cause where they do not imply it.

JSON, the exported log and the filters keep the names of states and events. Pure.
"""

from collections.abc import Mapping
from types import MappingProxyType

from gitworker.model.task import TaskEvent, TaskStatus
from gitworker.model.worker import WorkerEvent, WorkerState
from gitworker.states.task_machine import status_label
from gitworker.states.worker_machine import state_label

CAUSES: Mapping[str, str] = MappingProxyType(
    {
        WorkerEvent.APPROVAL_WITHDRAWN: "the approval was withdrawn",
        WorkerEvent.CANCEL: "cancelled",
        WorkerEvent.EXPIRE: "no heartbeat for too long",
        WorkerEvent.HEARTBEAT_TIMEOUT: "no heartbeat",
        WorkerEvent.MERGE_CONFLICT: "conflict",
        WorkerEvent.REQUEST_CHANGES: "changes requested",
        WorkerEvent.RESET: "reset",
        WorkerEvent.REVIEW_TIMEOUT: "the review takes long",
        WorkerEvent.SETUP_FAILED: "the setup failed",
        WorkerEvent.VERIFY_FAILED: "verification failed",
        TaskEvent.ADMIN_RESTART: "restarted",
        TaskEvent.ADMIN_SKIP: "skipped",
        TaskEvent.ADMIN_STOP: "stopped",
        TaskEvent.EXECUTION_ERROR: "error",
        TaskEvent.HUMAN_REPLIED: "answered",
        TaskEvent.INPUT_TIMEOUT: "no answer",
        TaskEvent.MAX_RETRIES: "no attempt is left",
        TaskEvent.PR_CLOSED: "sent back",
        TaskEvent.RECOVERY: "its process ended",
        TaskEvent.TIMEOUT: "no heartbeat for too long",
        TaskEvent.TOKENS_EXHAUSTED: "usage limit",
        TaskEvent.VERIFY_FAILED: "verification failed",
    }
)
# Two statuses that are one to other screens, but two lines here.
LABELS: Mapping[str, str] = MappingProxyType(
    {TaskStatus.VERIFYING: "being verified", TaskStatus.AWAITING_APPROVAL: "awaiting approval"}
)


def transition_text(machine: str, from_state: str, to_state: str, event: str) -> str:
    """Return a transition in words: `at work → stale (no heartbeat)`."""
    text = f"{_label(machine, from_state)} → {_label(machine, to_state)}"
    cause = CAUSES.get(event)
    return f"{text} ({cause})" if cause else text


def _label(machine: str, state: str) -> str:
    """Return a state as a column shows it; one of the other machines in lower case."""
    if machine == "worker" and state in WorkerState.__members__:
        return state_label(WorkerState(state))
    if machine == "task" and state in TaskStatus.__members__:
        status = TaskStatus(state)
        return LABELS.get(status) or status_label(status)
    return state.lower().replace("_", " ")
