"""The agents that are shown, and their activity."""

import pytest

from gitworker.liveness.rules_stale import Liveness
from gitworker.model.worker import WorkerState
from gitworker.observe.rules_agents import REMEMBERED_MS, doing, shown_liveness, shows


@pytest.mark.parametrize(
    ("state", "liveness", "runs", "age_ms", "shown"),
    [
        (WorkerState.WORKING, Liveness.DEAD, False, 10, True),
        (WorkerState.STALE, Liveness.UNKNOWN, None, None, True),
        (WorkerState.IN_REVIEW, Liveness.OK, None, 10, True),
        (WorkerState.IN_REVIEW, Liveness.OK, False, 10, False),
        (WorkerState.IN_REVIEW, Liveness.DEAD, True, 10, True),
        (WorkerState.IDLE, Liveness.DEAD, None, 10, False),
        (WorkerState.COMPLETED, Liveness.DEAD, True, 10, False),
        (WorkerState.IDLE, Liveness.OK, True, 10, True),
        (None, Liveness.DEAD, True, REMEMBERED_MS, True),
        (None, Liveness.DEAD, None, REMEMBERED_MS - 1, True),
        (None, Liveness.DEAD, None, REMEMBERED_MS, False),
        (None, Liveness.UNKNOWN, None, None, False),
    ],
)
def test_agents_that_are_shown(
    state: WorkerState | None,
    liveness: Liveness,
    runs: bool | None,
    age_ms: int | None,
    shown: bool,
) -> None:
    """Agents that are alive, should be, or were lost within a day are shown."""
    assert shows(state, liveness, runs=runs, age_ms=age_ms) is shown


def test_the_silence_of_agents_without_work() -> None:
    """Only an agent that should be at work, or a foreign program, is shown as silent."""
    assert shown_liveness(WorkerState.WORKING, Liveness.DEAD) is Liveness.DEAD
    assert shown_liveness(None, Liveness.STALE) is Liveness.STALE
    assert shown_liveness(WorkerState.IN_REVIEW, Liveness.DEAD) is Liveness.UNKNOWN
    assert shown_liveness(WorkerState.IN_REVIEW, Liveness.WARN) is Liveness.WARN


@pytest.mark.parametrize(
    ("state", "reported", "is_paused", "runs", "word"),
    [
        (WorkerState.WORKING, "working", False, True, "working"),
        (WorkerState.WORKING, "working", False, False, "gone"),
        (WorkerState.WORKING, "blocked", True, True, "paused"),
        (WorkerState.WORKING, "blocked", True, None, "blocked"),
        (None, "idle", False, None, "idle"),
        (WorkerState.IN_REVIEW, None, False, False, "-"),
    ],
)
def test_activity(
    state: WorkerState | None, reported: str | None, is_paused: bool, runs: bool | None, word: str
) -> None:
    """An agent is shown with its last report, unless it is paused or has ended."""
    assert doing(state, reported, is_paused=is_paused, runs=runs) == word
