"""When a wait for a worker is over."""

from typing import Any

import pytest

from gitworker.errors import Invalid
from gitworker.model.ids import TaskId
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.workers.rules_wait import (
    Need,
    Question,
    WorkerFacts,
    is_at_work,
    is_reached,
    need_of,
    notice_of,
    parse_goal,
    timeout_error,
    wait_refusal,
)

S = WorkerState


def facts(
    state: WorkerState = S.WORKING,
    *,
    task: str | None = "t1",
    error: str | None = None,
    waits: bool = False,
    verdict: bool = False,
    landed: bool = False,
    **agent: Any,
) -> WorkerFacts:
    """Return the facts about worker auth."""
    found = None if task is None else TaskId(task)
    return WorkerFacts(
        "auth", state, found, error, waits_for_author=waits, has_verdict=verdict, has_landed=landed,
        **agent,
    )  # fmt: skip


def left(state: WorkerState = S.WORKING, **other: Any) -> WorkerFacts:
    """Return the facts about worker auth after its supervised agent has ended."""
    return facts(state, agent_ended=True, **other)


@pytest.mark.parametrize(
    ("text", "goal"),
    [("verdict", "verdict"), ("LANDED", "landed"), ("IN-REVIEW", "in_review"), ("idle", "idle")],
)
def test_goals(text: str, goal: str) -> None:
    """A goal is a verdict, a landing or a state, in any spelling of its letters."""
    assert parse_goal(text) == goal


def test_unknown_goals() -> None:
    """Any other goal is refused, and the hint lists the goals."""
    with pytest.raises(Invalid, match="'merged' is neither") as refused:
        parse_goal("merged")
    assert "in_review" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("goal", "now", "reached"),
    [
        ("verdict", facts(), False),
        ("verdict", facts(verdict=True), True),
        ("verdict", facts(landed=True), True),
        ("landed", facts(S.APPROVED, verdict=True), False),
        ("landed", facts(S.COMPLETED, landed=True), True),
        ("rest", facts(S.ASSIGNED), False),
        ("rest", facts(S.WORKING), False),
        ("rest", facts(S.WORKING, waits=True), True),
        ("rest", facts(S.STALE), True),
        ("rest", left(is_unchanged=True), True),
        ("rest", left(), False),
        ("failed", facts(S.FAILED), True),
        ("failed", facts(S.STALE), False),
    ],
)
def test_reached(goal: str, now: WorkerFacts, reached: bool) -> None:
    """A goal is reached by the state, the verdict or the landing that it names."""
    assert is_reached(goal, now) is reached


@pytest.mark.parametrize(
    ("first", "now", "message"),
    [
        (facts(), facts(S.IN_REVIEW), None),
        (facts(), facts(S.FAILED, error="no idea"), "worker auth has failed: no idea"),
        (facts(), facts(S.FAILED), "worker auth has failed"),
        (facts(), facts(S.IDLE, task=None), "auth no longer has task t1"),
        (facts(), facts(task="t2"), "auth no longer has task t1"),
        (facts(S.IDLE, task=None), facts(S.IDLE, task=None), "auth has no task"),
        (
            facts(),
            left(is_unchanged=True),
            "worker auth does not continue: its agent ended without handing anything in",
        ),
        (
            facts(),
            left(waits=True),
            "worker auth does not continue: its work was sent back after its agent had ended",
        ),
        (
            facts(),
            left(S.STALE, stale_from=S.WORKING),
            "worker auth does not continue: its agent ended without handing anything in",
        ),
        (facts(), left(S.STALE, stale_from=S.IN_REVIEW), None),
        (facts(), left(S.IN_REVIEW, is_unchanged=True), None),
        (facts(), left(), None),
    ],
)
def test_vain_waits(first: WorkerFacts, now: WorkerFacts, message: str | None) -> None:
    """A wait ends when the worker fails, loses its task, or is left by its agent."""
    refusal = wait_refusal("landed", first, now)
    assert (refusal and refusal.message) == message


def test_goals_without_an_agent() -> None:
    """The state that silence brings about is waited for, and the refusal names the next command."""
    assert wait_refusal("failed", facts(), left(is_unchanged=True)) is None
    failed = wait_refusal("landed", facts(), facts(S.FAILED))
    assert failed is not None
    assert (failed.hint or "").startswith("git worker resume auth ")
    refusal = wait_refusal("verdict", facts(), left(is_unchanged=True))
    assert refusal is not None
    assert (refusal.code, refusal.status) == ("agent_ended", 1)
    assert (refusal.hint or "").startswith("git worker resume auth ")


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ("rest", "waited 2.5 s: worker auth is at work"),
        ("verdict", "waited 2.5 s for a verdict: worker auth is at work"),
        ("landed", "waited 2.5 s for the landing: worker auth is at work"),
        ("in_review", "waited 2.5 s for the state in review: worker auth is at work"),
    ],
)
def test_timeouts(goal: str, words: str) -> None:
    """A timeout is one sentence with the state in words, and exit status 1."""
    error = timeout_error(goal, facts(), 2.5)
    assert (error.message, error.status) == (words, 1)


def test_timeouts_of_sent_back_work() -> None:
    """A wait for work that was sent back says that it waits for its author, and continues it."""
    waiting = ("waits for its author (conflict in README)", "git worker sync --as auth")
    error = timeout_error("landed", facts(waits=True, waiting=waiting), 1)
    assert error.message == f"waited 1 s for the landing: worker auth {waiting[0]}"
    assert error.hint == waiting[1]
    assert timeout_error("rest", facts(need=PAUSED, waiting=waiting), 1).hint == PAUSED.command


ANSWER = "git worker send auth --reply-to 4 <text>"
ASKS = Need("waits for an answer: Which port?", "answer", ANSWER)
LIMITED = Need("waits for the end of a limit: until 15:00", "", "git worker resume auth")
PAUSED = Need("is paused", "continue it", "git worker continue auth")


@pytest.mark.parametrize(
    ("status", "known", "need"),
    [
        (TaskStatus.IN_PROGRESS, {}, None),
        (None, {"is_paused": True, "question": Question("Which port?", ANSWER)}, PAUSED),
        (TaskStatus.IN_PROGRESS, {"question": Question("Which port?", ANSWER)}, ASKS),
        (
            TaskStatus.WAITING_INPUT,
            {},
            Need("waits for an answer", "answer", "git worker reply auth <text>"),
        ),
        (TaskStatus.PAUSED, {"limit": "until 15:00"}, LIMITED),
        (TaskStatus.PAUSED, {}, Need("its task is paused", "", "git worker resume auth")),
    ],
)
def test_needs(status: TaskStatus | None, known: dict[str, Any], need: Need | None) -> None:
    """An agent waits until it is continued or answered, or for the end of a limit."""
    facts = {"is_paused": False, "question": None, "limit": None, **known}
    assert need_of("auth", status, **facts) == need


def test_a_need_is_reported() -> None:
    """A person can end a pause and a question, not a limit."""
    assert notice_of(facts(need=ASKS)) == (
        f"the agent of auth waits for an answer: Which port?; to answer: {ANSWER}"
    )
    assert notice_of(facts(need=PAUSED)).endswith(f" is paused; to continue it: {PAUSED.command}")
    assert notice_of(facts(need=LIMITED)) == notice_of(facts()) == ""
    assert timeout_error("rest", facts(need=PAUSED), 1).hint == PAUSED.command
    assert timeout_error("rest", facts(), 1).hint == "git worker show auth"


RESUME, SHOW = "git worker resume auth", "# or look first: git worker show auth"


@pytest.mark.parametrize(
    ("now", "message", "hint"),
    [
        (
            left(is_unchanged=True, need=ASKS),
            "worker auth does not continue: its agent ended and waits for an answer: Which port?",
            f"{ANSWER}   # then: {RESUME}",
        ),
        (
            left(is_unchanged=True, need=LIMITED),
            "worker auth does not continue: its agent ended and waits for the end of a limit: until"
            " 15:00",
            f"{RESUME}   {SHOW}",
        ),
        (
            left(waits=True, waiting=("waits", "git worker sync --as auth"), need=ASKS),
            "worker auth does not continue: its work was sent back after its agent had ended",
            f"git worker sync --as auth   {SHOW}",
        ),
        (
            left(waits=True, waiting=("waits", RESUME), need=ASKS),
            "worker auth does not continue: its work was sent back after its agent had ended",
            f"{RESUME}   {SHOW}",
        ),
        (facts(S.FAILED), "worker auth has failed", f"{RESUME}   {SHOW}"),
        (
            facts(S.FAILED, is_taken=True),
            "worker auth has failed",
            f"git worker reset auth   {SHOW}",
        ),
        (facts(S.IDLE), "worker auth has no task", "git worker show auth"),
    ],
)
def test_the_command_that_helps(now: WorkerFacts, message: str, hint: str) -> None:
    """A refusal names the command that helps in the state of the worker and its task."""
    refusal = wait_refusal("landed", facts(), now)
    assert refusal is not None
    assert (refusal.message, refusal.hint) == (message, hint)


@pytest.mark.parametrize(
    ("state", "stale_from", "expected"),
    [
        (S.WORKING, None, True),
        (S.STALE, S.WORKING, True),
        (S.STALE, S.IN_REVIEW, False),
        (S.FAILED, S.WORKING, False),
    ],
)
def test_at_work(state: WorkerState, stale_from: WorkerState | None, expected: bool) -> None:
    """A worker that became stale at work is at work still."""
    assert is_at_work(state, stale_from=stale_from) is expected
