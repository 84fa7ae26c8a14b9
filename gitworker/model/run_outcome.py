"""The outcome of an agent's run for its worker."""

from enum import StrEnum
from typing import NamedTuple

from gitworker.model.worker import WorkerState

RATE_LIMIT = "rate_limit"
USAGE_LIMIT = "usage_limit"
BUDGET = "budget"  # of the run, at which an agent has stopped itself
LIMITS = frozenset({RATE_LIMIT, USAGE_LIMIT})  # failures of the model's vendor, which pass by time


class RunOutcome(StrEnum):
    """What the end of an agent meant for its worker."""

    HANDED_IN = "handed_in"
    NOTHING = "nothing_handed_in"  # it succeeded without commits, or with uncommitted changes
    SENT_BACK = "sent_back"  # its work was sent back, and nothing was handed in again
    WAITING = "waiting"  # the task is paused or waits for an answer
    FAILED = "failed"
    STOPPED = "stopped"  # by a command
    OUT_OF_BUDGET = "out_of_budget"  # it was stopped, and its task is paused
    TIMED_OUT = "timed_out"
    TAKEN_AWAY = "taken_away"  # the worker has another task, or none
    UNRECORDED = "unrecorded"


class Outcome(NamedTuple):
    """An outcome, and the same in a sentence."""

    kind: RunOutcome
    text: str


# If the agent or a person has changed the worker's state during the run.
OF_STATE = {
    WorkerState.IN_REVIEW: RunOutcome.HANDED_IN,
    WorkerState.APPROVED: RunOutcome.HANDED_IN,
    WorkerState.COMPLETED: RunOutcome.HANDED_IN,
    WorkerState.FAILED: RunOutcome.FAILED,
}
