"""The guards of the worker machine, and its refusals for people."""

import pickle

import pytest

from gitworker.model.worker import WorkerEvent as E
from gitworker.model.worker import WorkerState as S
from gitworker.states.engine import InvalidTransition, legal_events
from gitworker.states.worker_machine import (
    STATE_WORDS,
    WORKER_MACHINE,
    guard_allows,
    require_transition,
    state_label,
    state_words,
    worker_transition,
)


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
def test_stale_is_left_by_fitting_events(event: str, stale_from: str, target: str) -> None:
    """A stale worker continues at work or in review, whichever it was before."""
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
def test_stale_refuses_other_events(event: str, stale_from: str) -> None:
    """A worker stale at work gets no verdict, and one stale in review is not put back to work."""
    with pytest.raises(InvalidTransition) as caught:
        worker_transition(S.STALE, E(event), stale_from=S(stale_from))
    assert str(caught.value) == f"Invalid transition: (STALE, {event})"
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(f"it became stale in {stale_from}; events allowed in")


def test_stale_without_memory_refuses_guarded_events() -> None:
    """If the state before STALE is unknown, only stop and cancel are legal."""
    with pytest.raises(InvalidTransition):
        worker_transition(S.STALE, E.RECOVER)
    assert worker_transition(S.STALE, E.STOP) == S.FAILED
    assert worker_transition(S.STALE, E.CANCEL) == S.IDLE


def test_guards_hold_in_stale_only() -> None:
    """The same events have no guard in other states."""
    assert guard_allows(S.IN_REVIEW, E.APPROVE, stale_from=None)
    assert worker_transition(S.IN_REVIEW, E.APPROVE) == S.APPROVED


@pytest.mark.parametrize(
    ("state", "event", "stale_from", "message", "hint"),
    [
        ("WORKING", "approve", None, "is at work, so there is nothing to approve", "show auth"),
        (
            "WORKING", "request_changes", None, "is at work, so there is nothing to send back",
            "send auth <text>",
        ),
        ("WORKING", "reset", None, "is at work, so there is nothing to reset", "cancel auth"),
        (
            "IDLE", "submit", None, "has no task, so there is nothing to hand in",
            "assign auth <task>",
        ),  # fmt: skip
        ("FAILED", "approve", None, "has failed, so there is nothing to approve", "resume auth"),
        ("FAILED", "recycle", None, "has failed, so there is nothing to recycle", "reset auth"),
        ("APPROVED", "assign", None, "is approved, so it cannot take a task", "cancel auth"),
        ("APPROVED", "fail", None, "is approved, so there is no work to give up", "cancel auth"),
        (
            "IN_REVIEW", "resume", None,
            "is in review, so there is nothing to resume", "reject auth -m <text>",
        ),
        (
            "STALE", "approve", "WORKING",
            "is stale (no sign of life), so there is nothing to approve", "resume auth",
        ),
        (
            "STALE", "recover", "IN_REVIEW",
            "is stale (its review takes long), so there is nothing to recover", "approve auth",
        ),
        ("COMPLETED", "cancel", None, "has landed, so there is nothing to cancel", "undo --list"),
        ("COMPLETED", "reset", None, "has landed, so there is nothing to reset", "recycle auth"),
    ],
)  # fmt: skip
def test_refusal_names_the_state_and_the_next_command(
    state: str, event: str, stale_from: str | None, message: str, hint: str
) -> None:
    """A refusal for people names the worker, its state and a command, not a machine's row."""
    went = None if stale_from is None else S(stale_from)
    with pytest.raises(InvalidTransition) as caught:
        require_transition("auth", S(state), E(event), stale_from=went)
    assert caught.value.message == f"worker auth {message}"
    assert caught.value.hint == f"git worker {hint}"
    assert caught.value.code == "invalid_transition"


@pytest.mark.parametrize(
    ("state", "stale_from", "awaited"),
    [
        ("IN_REVIEW", None, "verdict"),
        ("APPROVED", None, "landed"),
        ("STALE", "IN_REVIEW", "verdict"),
    ],
)
def test_own_work_is_judged_by_others(state: str, stale_from: str | None, awaited: str) -> None:
    """The worker itself is told to wait, others to send the work back."""
    went = None if stale_from is None else S(stale_from)
    for is_own, hint in ((True, f"wait auth --for {awaited}"), (False, "reject auth -m <text>")):
        with pytest.raises(InvalidTransition) as caught:
            require_transition("auth", S(state), E.START, stale_from=went, is_own=is_own)
        assert caught.value.hint == f"git worker {hint}"


@pytest.mark.parametrize("state", S)
def test_every_refusal_names_the_state(state: S) -> None:
    """Every event that a state does not allow is refused in words, also after a pickle."""
    legal = set(legal_events(WORKER_MACHINE, state))
    for event in set(E) - legal:
        with pytest.raises(InvalidTransition) as caught:
            require_transition("auth", state, event)
        copy = pickle.loads(pickle.dumps(caught.value))
        assert copy.message.startswith(f"worker auth {STATE_WORDS[state]}, so ")
        assert (copy.message, copy.hint) == (caught.value.message, caught.value.hint)


def test_a_state_in_words() -> None:
    """A state has words for a sentence and a label for a column, both without its name."""
    labels = [state_label(state) for state in S]
    assert labels == [
        "no task", "not started yet", "at work", "in review", "approved", "landed", "stale",
        "failed",
    ]  # fmt: skip
    assert state_label(S.STALE, S.IN_REVIEW) == "stale"
    assert state_words(S.WORKING, waits_for_author=True) == "waits for its author"
    assert state_words(S.FAILED, waits_for_author=True) == "has failed"
