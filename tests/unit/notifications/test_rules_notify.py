"""Which states need a notification, who gets it, and how a failure is named."""

import pytest

from gitworker.model.task import TaskStatus, VerificationType
from gitworker.model.worker import WorkerState
from gitworker.notifications.rules_notify import (
    TEXT_MAX,
    Event,
    Targets,
    failure_text,
    is_left_to_run,
    is_missed,
    is_open,
)

S, T, V = WorkerState, TaskStatus, VerificationType


@pytest.mark.parametrize(
    ("state", "status", "approval", "verification", "left"),
    [
        (S.FAILED, T.FAILED, False, V.AUTO_TEST, True),
        (S.FAILED, T.READY, False, V.AUTO_TEST, True),
        (S.FAILED, T.BLOCKED, False, V.AUTO_TEST, False),
        (S.IN_REVIEW, T.VERIFYING, False, V.AUTO_TEST, True),
        (S.IN_REVIEW, T.VERIFYING, False, V.QA_AGENT, True),
        (S.IN_REVIEW, T.VERIFYING, False, V.HUMAN, False),
        (S.IN_REVIEW, T.AWAITING_APPROVAL, True, V.AUTO_TEST, False),
    ],
)
def test_work_that_a_run_continues(
    state: S, status: T, approval: bool, verification: V, left: bool
) -> None:
    """A run retries failed tasks, and approves work for which no person is required."""
    found = is_left_to_run(
        state, status=status, requires_approval=approval, verification=verification
    )
    assert found is left


def test_targets() -> None:
    """The URL of a project replaces those of the settings, and only chosen events are sent."""
    targets = Targets(("a://1", "b://2"), ("question",), {"shop": "c://3"})
    assert targets.urls_of("question", "default") == ("a://1", "b://2")
    assert targets.urls_of("question", "shop") == ("c://3",)
    assert targets.urls_of("review", "shop") == ()
    assert targets.are_set
    assert not Targets((), ("question",), {}).are_set
    assert not Targets(("a://1",), (), {}).are_set


def test_the_body() -> None:
    """A body is one line without secrets, cut to a limit, with the command below it."""
    event = Event("k", "question", "default", "title", "a\nb token=abcdef123456", "git worker x")
    assert event.body == "a b token=[redacted]\n\ngit worker x"
    long = event._replace(text="x" * 999).body.splitlines()[0]
    assert (len(long), long[-1]) == (TEXT_MAX, "…")
    assert event._replace(text="").body == "git worker x"


def test_failures() -> None:
    """A failure names the scheme and the status, and nothing else of the target."""
    url = "json://ada:secret@host/topic"
    assert failure_text("Failed to send to host: x, error=404.", url) == (
        "json://…: it answered with status 404"
    )
    assert failure_text("connection to host failed", url) == "json://…: it could not be reached"
    assert (is_open("open"), is_open("late")) == (True, False)


def test_a_message_that_reached_nobody() -> None:
    """A message is repeated only if none of its targets was reached."""
    unreached, refused = failure_text("", "json://x"), failure_text("error=500", "json://x")
    assert is_missed([unreached, unreached], targets=2)
    assert not is_missed([unreached], targets=2)
    assert not is_missed([unreached, refused], targets=2)
