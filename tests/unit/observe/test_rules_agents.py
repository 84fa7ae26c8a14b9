"""Which agents are shown, and as doing what."""

import pytest

from gitworker.liveness.rules import Liveness
from gitworker.model.worker import WorkerState
from gitworker.observe.rules_agents import REMEMBERED_MS, doing, shows


@pytest.mark.parametrize(
    ("state", "liveness", "runs", "age_ms", "shown"),
    [
        (WorkerState.WORKING, Liveness.DEAD, False, 10, True),
        (WorkerState.STALE, Liveness.UNKNOWN, None, None, True),
        (WorkerState.IN_REVIEW, Liveness.OK, None, 10, True),
        (WorkerState.IN_REVIEW, Liveness.OK, False, 10, False),
        (WorkerState.IN_REVIEW, Liveness.DEAD, True, 10, True),
        (WorkerState.IDLE, Liveness.DEAD, None, 10, False),
        (None, Liveness.DEAD, None, REMEMBERED_MS - 1, True),
        (None, Liveness.DEAD, None, REMEMBERED_MS, False),
        (None, Liveness.UNKNOWN, None, None, False),
    ],
)
def test_who_is_shown(
    state: WorkerState | None,
    liveness: Liveness,
    runs: bool | None,
    age_ms: int | None,
    shown: bool,
) -> None:
    """Shown is who is alive, who should be, and who was lost within a day."""
    assert shows(state, liveness, runs=runs, age_ms=age_ms) is shown


@pytest.mark.parametrize(
    ("state", "told", "is_paused", "runs", "word"),
    [
        (WorkerState.WORKING, "working", False, True, "working"),
        (WorkerState.WORKING, "working", False, False, "gone"),
        (WorkerState.WORKING, "blocked", True, True, "paused"),
        (WorkerState.WORKING, "blocked", True, None, "blocked"),
        (None, "idle", False, None, "idle"),
        (WorkerState.IN_REVIEW, None, False, False, "-"),
    ],
)
def test_what_it_does(
    state: WorkerState | None, told: str | None, is_paused: bool, runs: bool | None, word: str
) -> None:
    """An agent does what it told last, unless it is paused or gone."""
    assert doing(state, told, is_paused=is_paused, runs=runs) == word
