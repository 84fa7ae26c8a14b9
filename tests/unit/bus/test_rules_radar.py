"""Whose branches the radar watches, and when it must look."""

import pytest

from gitworker.bus.jobs.rules_radar_job import is_watched, must_look
from gitworker.model.worker import WorkerState


def test_who_is_watched() -> None:
    """Those who are at work, in review, approved or silent."""
    assert {state for state in WorkerState if is_watched(state)} == {
        WorkerState.WORKING, WorkerState.IN_REVIEW, WorkerState.APPROVED, WorkerState.STALE,
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
def test_when_it_must_look(due: tuple[str, ...], watched: tuple[str, ...], must: bool) -> None:
    """Where a watched branch or the target moved, and there are two to meet."""
    assert must_look(due, watched, target="main") is must
