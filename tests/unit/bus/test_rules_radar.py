"""The branches that the radar watches, and when it is due."""

import pytest

from gitworker.bus.jobs.rules_radar_job import is_due, is_watched
from gitworker.model.worker import WorkerState


def test_watched_workers() -> None:
    """Workers that may have commits are watched, also before the first one starts their work."""
    assert {state for state in WorkerState if is_watched(state)} == {
        WorkerState.ASSIGNED, WorkerState.WORKING, WorkerState.IN_REVIEW, WorkerState.APPROVED,
        WorkerState.STALE,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("due", "watched", "must"),
    [
        ((), ("a", "b"), False),
        (("a",), ("a", "b"), True),
        (("main",), ("a", "b"), True),
        (("c",), ("a", "b"), False),
        (("c", "b"), ("a", "b"), True),
        (("a", "main"), ("a",), False),
        (("main",), (), False),
    ],
)
def test_when_the_radar_is_due(due: tuple[str, ...], watched: tuple[str, ...], must: bool) -> None:
    """The radar is due if a watched branch or the target moved, and two branches may collide."""
    assert is_due(due, watched, targets={"main"}) is must
