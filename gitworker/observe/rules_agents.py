"""Which agents there are to show, and what each is doing. Pure."""

from gitworker.liveness.rules import Liveness
from gitworker.model.worker import WorkerState

# Seats whose agent is expected to live; in the others an old beat is history.
EXPECTED = frozenset({WorkerState.WORKING, WorkerState.STALE})
SILENT = frozenset({Liveness.STALE, Liveness.DEAD, Liveness.UNKNOWN})
REMEMBERED_MS = 24 * 3600 * 1000  # for how long a silent agent without a seat is shown as lost


def is_expected(state: WorkerState) -> bool:
    """Tell whether an agent is expected to live in a seat."""
    return state in EXPECTED


def shows(
    state: WorkerState | None, liveness: Liveness, *, runs: bool | None, age_ms: int | None
) -> bool:
    """Tell whether an agent is worth a line: alive, expected to be, or lost not long ago.

    `state` is its seat's, None for a program that only beats; `runs` tells whether its process
    does, None where nobody can tell; `age_ms` is the age of its last beat.
    """
    if runs or state in EXPECTED:
        return True
    if state is not None:
        return liveness not in SILENT and runs is not False
    return age_ms is not None and age_ms < REMEMBERED_MS


def doing(
    state: WorkerState | None, told: str | None, *, is_paused: bool, runs: bool | None
) -> str:
    """Return in a word what an agent is doing: paused, gone, or what it told with its last beat."""
    if runs is False and state in EXPECTED:
        return "gone"
    return "paused" if is_paused and runs else told or "-"
