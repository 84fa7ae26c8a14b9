"""Rules: which agents are shown, and the activity of each. Pure."""

from gitworker.liveness.rules_stale import Liveness
from gitworker.model.worker import WorkerState

# States in which an agent is expected to be alive; in the others an old heartbeat is history.
EXPECTED = frozenset({WorkerState.WORKING, WorkerState.STALE})
FREE = frozenset({WorkerState.IDLE, WorkerState.COMPLETED})
SILENT = frozenset({Liveness.STALE, Liveness.DEAD, Liveness.UNKNOWN})
REMEMBERED_MS = 24 * 3600 * 1000  # a silent agent that is no worker is shown as lost for so long


def is_expected(state: WorkerState) -> bool:
    """Return True if an agent is expected to be alive in this state."""
    return state in EXPECTED


def shows(
    state: WorkerState | None, liveness: Liveness, *, runs: bool | None, age_ms: int | None
) -> bool:
    """Return True if an agent is listed: alive, expected to be, or lost a short time ago.

    `state` is None for a foreign program that only sends heartbeats. `runs` is True if its process
    is alive, None if that is unknown. `age_ms` is the age of its last heartbeat.
    """
    if state in EXPECTED:
        return True
    if state is not None:
        is_heard = liveness not in SILENT and runs is not False
        return is_heard or (runs is True and state not in FREE)
    if runs:
        return True
    return age_ms is not None and age_ms < REMEMBERED_MS


def shown_liveness(state: WorkerState | None, liveness: Liveness) -> Liveness:
    """Return the liveness to show: the silence of a worker that is not at work means nothing."""
    means = state is None or state in EXPECTED or liveness not in SILENT
    return liveness if means else Liveness.UNKNOWN


def doing(
    state: WorkerState | None, reported: str | None, *, is_paused: bool, runs: bool | None
) -> str:
    """Return the activity in a word: paused, gone, or the status of the last heartbeat."""
    if runs is False and state in EXPECTED:
        return "gone"
    return "paused" if is_paused and runs else reported or "-"
