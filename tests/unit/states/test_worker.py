"""The guards of the worker machine: what STALE remembers."""

import pytest

from gitworker.model.worker import WorkerEvent as E
from gitworker.model.worker import WorkerState as S
from gitworker.states.engine import InvalidTransition
from gitworker.states.worker_machine import guard_allows, worker_transition


@pytest.mark.parametrize(
    ("event", "stale_from", "target"),
    [
        ("recover", "WORKING", "WORKING"),
        ("expire", "WORKING", "FAILED"),
        ("stop", "WORKING", "FAILED"),
        ("cancel", "WORKING", "IDLE"),
        ("approve", "IN_REVIEW", "APPROVED"),
        ("request_changes", "IN_REVIEW", "WORKING"),
        ("resume_review", "IN_REVIEW", "IN_REVIEW"),
        ("stop", "IN_REVIEW", "FAILED"),
        ("cancel", "IN_REVIEW", "IDLE"),
    ],
)
def test_stale_is_left_by_what_fits(event: str, stale_from: str, target: str) -> None:
    """A stale seat goes on as a seat at work or as one in review, whichever it was."""
    assert worker_transition(S.STALE, E(event), stale_from=S(stale_from)) == target


@pytest.mark.parametrize(
    ("event", "stale_from"),
    [
        ("recover", "IN_REVIEW"),
        ("expire", "IN_REVIEW"),
        ("approve", "WORKING"),
        ("request_changes", "WORKING"),
        ("resume_review", "WORKING"),
    ],
)
def test_stale_refuses_what_does_not_fit(event: str, stale_from: str) -> None:
    """A seat stale at work gets no verdict, and one stale in review is not put back to work."""
    with pytest.raises(InvalidTransition) as caught:
        worker_transition(S.STALE, E(event), stale_from=S(stale_from))
    assert str(caught.value) == f"Invalid transition: (STALE, {event})"
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(f"it became stale in {stale_from}; events allowed in")


def test_stale_without_memory_refuses_guarded_events() -> None:
    """Where nobody remembers how the seat went stale, only stop and cancel are safe."""
    with pytest.raises(InvalidTransition):
        worker_transition(S.STALE, E.RECOVER)
    assert worker_transition(S.STALE, E.STOP) == S.FAILED
    assert worker_transition(S.STALE, E.CANCEL) == S.IDLE


def test_guards_hold_in_stale_only() -> None:
    """The same events need no memory in other states."""
    assert guard_allows(S.IN_REVIEW, E.APPROVE, stale_from=None)
    assert worker_transition(S.IN_REVIEW, E.APPROVE) == S.APPROVED
