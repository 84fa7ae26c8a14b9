"""The heartbeats that events of an agent call for, and the bound on keeping it at work."""

import pytest

from gitworker.agents.hooks.rules_dialects import PROMPT, START, STOP, TOOL, WAITING
from gitworker.agents.hooks.rules_session import (
    BEAT_EVERY_MS,
    REPEAT_AFTER_MS,
    STOPS_MAX,
    begins_turn,
    due_beat,
    is_repeated,
    may_keep,
    needs_start,
    waits_for_work,
)

YOUNG, OLD = BEAT_EVERY_MS - 1, BEAT_EVERY_MS
NONE, RENEW = "no heartbeat", "the last status"


@pytest.mark.parametrize(
    ("meaning", "state", "status", "set_status", "age_ms", "wanted"),
    [
        (TOOL, "WORKING", "working", None, YOUNG, NONE),
        (TOOL, "WORKING", "working", None, OLD, RENEW),
        (TOOL, "WORKING", "working", None, -1, RENEW),  # the clock was set back
        (TOOL, "WORKING", None, None, None, RENEW),
        (TOOL, "WORKING", "blocked", "blocked", YOUNG, "working"),
        (TOOL, "WORKING", "idle", "idle", YOUNG, "working"),
        (TOOL, "WORKING", "blocked", None, YOUNG, NONE),  # the agent has reported it itself
        (TOOL, "WORKING", "blocked", "working", OLD, RENEW),
        (PROMPT, "WORKING", "blocked", None, YOUNG, "working"),
        (PROMPT, "IN_REVIEW", "working", None, YOUNG, NONE),
        (START, "WORKING", "idle", "idle", YOUNG, "working"),
        (WAITING, "WORKING", "working", None, YOUNG, "blocked"),
        (WAITING, "WORKING", "blocked", None, OLD, NONE),
        (WAITING, "IN_REVIEW", "working", None, OLD, NONE),
        (STOP, "WORKING", "working", None, YOUNG, "idle"),
        (STOP, "WORKING", "blocked", None, YOUNG, NONE),
        (STOP, "IN_REVIEW", "working", None, YOUNG, NONE),
    ],
)
def test_heartbeats(
    meaning: str, state: str, status: str | None, set_status: str | None, age_ms: int | None,
    wanted: str,
) -> None:  # fmt: skip
    """An event changes the status, renews the heartbeat, or needs neither."""
    due = due_beat(meaning, state=state, status=status, set_status=set_status, age_ms=age_ms)
    assert (NONE if due is None else due.status or RENEW) == wanted


@pytest.mark.parametrize(
    ("state", "is_supervised", "is_bound", "wanted"),
    [
        ("ASSIGNED", False, False, True),
        ("ASSIGNED", True, False, True),
        ("WORKING", False, False, True),
        ("WORKING", True, False, False),
        ("WORKING", False, True, False),
        ("STALE", False, False, True),
        ("STALE", False, True, True),
        ("STALE", True, False, False),
        ("FAILED", False, False, False),
        ("IN_REVIEW", False, False, False),
        ("APPROVED", False, False, False),
    ],
)
def test_a_session_starts_the_work(
    state: str, *, is_supervised: bool, is_bound: bool, wanted: bool
) -> None:
    """A session starts work that is open, and leaves the rest to its supervisor or a person."""
    assert needs_start(state, is_supervised=is_supervised, is_bound=is_bound) is wanted


@pytest.mark.parametrize(
    ("state", "is_interrupted", "wanted"),
    [("ASSIGNED", False, True), ("FAILED", True, True), ("WORKING", False, False)],
)
def test_work_that_a_sign_begins(state: str, *, is_interrupted: bool, wanted: bool) -> None:
    """A sign of work begins work that has not begun, and takes up interrupted work."""
    assert waits_for_work(state, is_interrupted=is_interrupted) is wanted


@pytest.mark.parametrize(
    ("tried", "age_ms", "wanted"),
    [
        (7, 0, False),
        (7, REPEAT_AFTER_MS - 1, False),
        (7, REPEAT_AFTER_MS, True),
        (7, -1, True),
        (6, 0, True),
        (-1, 0, True),
    ],
)
def test_a_start_is_repeated_late(tried: int, age_ms: int, *, wanted: bool) -> None:
    """A start is repeated if the worker has changed since, or after ten minutes."""
    assert is_repeated(7, tried=tried, age_ms=age_ms) is wanted


def test_an_agent_is_kept_at_most_three_times() -> None:
    """Neither the same reason twice in a row nor many reasons keep an agent forever."""
    assert may_keep("a", stops=0, last=None)
    assert not may_keep("a", stops=1, last="a")
    assert may_keep("b", stops=STOPS_MAX - 1, last="a")
    assert not may_keep("b", stops=STOPS_MAX, last="a")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b"", True),
        (b'{"prompt":"Go on"}', True),
        (b'{"prompt":"A rebase is open here.\\n    git worker sync --continue"}', False),
        (b'{"cwd": "/", "prompt": "Not committed: a. Uncommitted work"}', False),
        (b'{"prompt":"A new plan. The door is open here."}', True),
    ],
)
def test_reasons_begin_no_turn(given: bytes, expected: bool) -> None:
    """A prompt begins a turn unless it is a reason of ours; the start of a session always does."""
    assert begins_turn(PROMPT, given) is expected
    assert begins_turn(START, given)
    assert not begins_turn(TOOL, given)
