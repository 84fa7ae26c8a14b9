"""The decisions about the rounds of an agent."""

from gitworker.agents.rounds.rules_rounds import (
    Return,
    RoundFacts,
    Step,
    next_step,
    pause_s,
    round_prompt,
)
from gitworker.model.worker import WorkerState

WORKING, REVIEW, STALE = WorkerState.WORKING, WorkerState.IN_REVIEW, WorkerState.STALE


CASES = (
    (RoundFacts(REVIEW, None, True, None, False), Step.WAIT),
    (RoundFacts(WorkerState.APPROVED, None, True, None, False), Step.WAIT),
    (RoundFacts(STALE, REVIEW, True, None, False), Step.WAIT),
    (RoundFacts(WORKING, None, True, "merge_conflict", True), Step.RESUME),
    (RoundFacts(WORKING, None, True, "verify_failed", True), Step.RESUME),
    (RoundFacts(WORKING, None, True, "changes_requested", True), Step.RESUME),
    (RoundFacts(WORKING, None, True, "withdrawn", True), Step.END),
    (RoundFacts(WORKING, None, True, "merge_conflict", False), Step.END),
    (RoundFacts(WORKING, None, True, None, False), Step.END),
    (RoundFacts(STALE, WORKING, True, "merge_conflict", True), Step.RESUME),
    (RoundFacts(WorkerState.FAILED, None, True, "verify_failed", True), Step.END),
    (RoundFacts(WorkerState.COMPLETED, None, True, None, False), Step.END),
    (RoundFacts(REVIEW, None, False, None, False), Step.END),
    (RoundFacts(WORKING, None, True, None, False, has_limit=True), Step.PAUSE),
    (RoundFacts(WORKING, None, False, None, False, has_limit=True), Step.END),
    (RoundFacts(WORKING, None, True, None, False, has_limit=True, is_stopped=True), Step.END),
    (RoundFacts(REVIEW, None, True, None, False, is_stopped=True), Step.END),
)


def test_the_next_step() -> None:
    """A handed-in work is awaited, one that came back is resumed, and anything else ends."""
    assert [next_step(facts) for facts, _ in CASES] == [expected for _, expected in CASES]


def test_the_length_of_a_pause() -> None:
    """A known end is awaited; without one, or after it, each pause is twice as long."""
    assert pause_s("usage_limit", 60_000, tries=5, now=0) == 61
    assert pause_s("rate_limit", None, tries=1, now=0) == 60
    assert pause_s("rate_limit", 1, tries=2, now=5) == 120
    assert pause_s("usage_limit", None, tries=9, now=0) == 3600


def test_the_prompt_of_a_conflict() -> None:
    """It names the files and the command that rebases, and repeats the task."""
    back = Return("a/t", "main", "merge_conflict", "", ("x.py", "y.py"), "", (), "Build it")
    text = round_prompt(back)
    assert "Your work on a/t was sent back: it conflicts with main." in text
    assert "  x.py\n  y.py\n" in text
    assert "`git worker sync --continue`" in text
    assert text.endswith("The task was:\n\nBuild it\n")


def test_the_prompt_of_a_failed_verification() -> None:
    """It has the reason and the end of the log, and no more if the task has no text."""
    back = Return("a/t", "main", "verify_failed", "make ended with 2", (), "/l.log", ("1", "2"), "")
    text = round_prompt(back)
    assert "the verify commands failed.\n\nmake ended with 2\n\n" in text
    assert "The end of the log /l.log:\n  1\n  2\n" in text
    assert "The task was" not in text


def test_the_prompt_of_requested_changes() -> None:
    """It has the reviewer's note as it was written."""
    back = Return("a/t", "main", "changes_requested", "A test\nis missing", (), "", (), "")
    assert "changes were requested.\n\nA test\nis missing\n\n" in round_prompt(back)


def test_the_prompt_of_comments() -> None:
    """It lists the open comments, and the command that records each as handled."""
    back = Return("a/t", "main", "changes_requested", "No", (), "", (), "", ("1 a.py:3: why?",))
    text = round_prompt(back)
    assert "\nThe comments of the review that are open:\n  1 a.py:3: why?\n" in text
    assert "`git worker review handled NUMBER`" in text
    assert "handled NUMBER" not in round_prompt(back._replace(comments=()))
