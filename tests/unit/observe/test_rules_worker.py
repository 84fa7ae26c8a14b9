"""The meaning of a worker's state for a reader."""

from collections.abc import Callable
from typing import Any

import pytest

from gitworker.config import Settings
from gitworker.liveness.rules_stale import ClockReading, Heartbeat, Liveness, sync_request
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.observe.workers.rules_worker import (
    LEFT_NEXT,
    PLACES,
    Reading,
    has_landed,
    is_at_work,
    is_free,
    is_old,
    is_taken,
    needs_command,
    news_of,
    next_command,
    waits_for,
    worker_liveness,
)
from gitworker.states.worker_machine import NEXT_COMMANDS

S = WorkerState
T = TaskStatus
HQ = Reading("hq")
AUTHOR = Reading("auth")
MOMENT = ClockReading(now_ms=1_000_000, mono_ms=500_000, boot_id="boot", host="here")


@pytest.mark.parametrize(
    ("state", "task_status", "stale_from", "words"),
    [
        (S.IDLE, None, None, "a task"),
        (S.ASSIGNED, T.ASSIGNED, None, "its agent to start"),
        (S.WORKING, T.IN_PROGRESS, None, None),
        (S.WORKING, None, None, None),
        (S.WORKING, T.WAITING_INPUT, None, "an answer"),
        (S.WORKING, T.PAUSED, None, "tokens"),
        (S.IN_REVIEW, T.AWAITING_APPROVAL, None, "a review"),
        (S.APPROVED, T.AWAITING_APPROVAL, None, "the merge"),
        (S.COMPLETED, T.COMPLETED, None, "its next task"),
        (S.STALE, T.IN_PROGRESS, S.WORKING, "a sign of life"),
        (S.STALE, T.AWAITING_APPROVAL, S.IN_REVIEW, "an overdue review"),
        (S.FAILED, T.FAILED, None, "a resume or a reset"),
    ],
)
def test_waits_for(
    state: WorkerState,
    task_status: TaskStatus | None,
    stale_from: WorkerState | None,
    words: str | None,
) -> None:
    """Every state names the thing that the worker waits for; a working one waits for nothing."""
    assert waits_for(state, task_status=task_status, stale_from=stale_from) == words


@pytest.mark.parametrize(
    ("state", "task_status", "stale_from", "command"),
    [
        (S.WORKING, T.IN_PROGRESS, None, "git worker wait auth"),
        (S.WORKING, None, None, "git worker wait auth"),
        (S.WORKING, T.WAITING_INPUT, None, "git worker reply auth <text>"),
        (S.STALE, T.IN_PROGRESS, S.WORKING, "git worker resume auth"),
        (S.STALE, T.AWAITING_APPROVAL, S.IN_REVIEW, "git worker approve auth"),
        (S.APPROVED, T.AWAITING_APPROVAL, None, "git worker merge auth"),
        (S.FAILED, T.FAILED, None, "git worker resume auth"),
        (S.FAILED, T.CANCELLED, None, "git worker reset auth"),
    ],
)
def test_next_command(
    state: WorkerState,
    task_status: TaskStatus | None,
    stale_from: WorkerState | None,
    command: str,
) -> None:
    """The next command follows from the state, or from the task if it waits."""
    facts: dict[str, Any] = {"task_status": task_status, "stale_from": stale_from}
    assert next_command("auth", state, reader=HQ, can_repeat=True, **facts) == command


@pytest.mark.parametrize("state", [S.FAILED, S.STALE])
def test_interrupted_work_without_a_known_command(state: WorkerState) -> None:
    """A `resume` that would start no agent names the place of a command, if an agent ran."""
    facts: dict[str, Any] = {"task_status": T.IN_PROGRESS, "stale_from": S.WORKING}
    assert next_command("auth", state, reader=HQ, can_repeat=False, **facts) == (
        "git worker resume auth -- <command>"
    )
    assert next_command("auth", state, reader=HQ, **facts) == "git worker resume auth"
    own = next_command("auth", state, reader=AUTHOR, can_repeat=False, **facts)
    assert own == "git worker resume auth"


@pytest.mark.parametrize(
    ("is_dirty", "command"),
    [(None, "show auth"), (False, "resume auth"), (True, "done auth --commit -m <text>")],
)
def test_an_agent_that_ended_without_handing_in(is_dirty: bool | None, command: str) -> None:
    """Its work is resumed, or handed in if the agent only forgot to commit."""
    facts: dict[str, Any] = {"task_status": T.IN_PROGRESS, "stale_from": S.WORKING}
    facts.update(has_uncommitted=is_dirty, can_repeat=True)
    for state in (S.WORKING, S.STALE):
        found = next_command("auth", state, reader=HQ, agent_end="", **facts)
        assert found == f"git worker {command}"
        killed = next_command("auth", state, reader=HQ, agent_end="killed", **facts)
        left = LEFT_NEXT.format("auth", "auth") if is_dirty and state is S.STALE else "resume auth"
        assert killed == f"git worker {left}"


@pytest.mark.parametrize(
    ("returned_by", "is_dirty", "command"),
    [
        (None, False, "done auth"), (None, True, "done auth --commit -m <text>"),
        (None, None, "show auth"), ("verify_failed", False, "resume auth"),
    ],
)  # fmt: skip
def test_commits_of_an_agent_that_handed_nothing_in(
    returned_by: str | None, is_dirty: bool | None, command: str
) -> None:
    """Its commits are handed in, unless the work was sent back since."""
    found = next_command(
        "auth", S.WORKING, reader=HQ, agent_end="", task_status=T.IN_PROGRESS, stale_from=None,
        has_uncommitted=is_dirty, has_commits=True, can_repeat=True, returned_by=returned_by,
    )  # fmt: skip
    assert found == f"git worker {command}"


@pytest.mark.parametrize(
    ("reason", "waits", "repeats", "command"),
    [
        ("merge_conflict", True, True, "git worker resume auth"),
        ("merge_conflict", True, False, "git worker sync --as auth"),
        ("merge_conflict", True, None, "git worker sync --as auth"),
        ("merge_conflict", False, True, "git worker wait auth"),
        ("changes_requested", True, True, "git worker resume auth"),
        ("changes_requested", True, False, "git worker resume auth -- <command>"),
        ("changes_requested", True, None, "git worker resume auth"),
        ("changes_requested", False, True, "git worker wait auth"),
        ("verify_failed", True, True, "git worker resume auth"),
        ("withdrawn", True, True, "git worker resume auth"),
    ],
)
def test_the_way_on_of_returned_work(
    reason: str, waits: bool, repeats: bool | None, command: str
) -> None:
    """Work that waits for its author is resumed; without an agent a conflict needs a sync."""
    facts: dict[str, Any] = {"task_status": T.IN_PROGRESS, "stale_from": None}
    facts.update(returned_by=reason, waits_for_author=waits, can_repeat=repeats)
    assert next_command("auth", S.WORKING, reader=HQ, **facts) == command


@pytest.mark.parametrize(
    ("repeats", "command"),
    [(True, "resume auth"), (False, "sync --as auth"), (None, "sync --as auth")],
)
def test_a_conflict_after_the_end_of_a_run(repeats: bool | None, command: str) -> None:
    """A run that failed, or ended without a hand-in, leaves the same next command as before."""
    facts: dict[str, Any] = {"task_status": T.IN_PROGRESS, "stale_from": S.WORKING}
    facts.update(returned_by="merge_conflict", can_repeat=repeats, reader=HQ)
    for state, end in ((S.FAILED, None), (S.STALE, None), (S.WORKING, ""), (S.WORKING, "killed")):
        found = next_command("auth", state, agent_end=end, **facts)
        assert found == f"git worker {command}", (state, end)


@pytest.mark.parametrize(
    ("reason", "is_dirty", "command"),
    [
        (
            None,
            True,
            "done auth --commit -m <text>   # or take it up again: git worker resume auth",
        ),
        (None, False, "resume auth"),
        (None, None, "resume auth"),
        ("merge_conflict", True, "resume auth"),
    ],
)
def test_work_that_an_ended_agent_has_left(
    reason: str | None, is_dirty: bool | None, command: str
) -> None:
    """Uncommitted work is handed in before the agent is started again, unless it conflicts."""
    facts: dict[str, Any] = {"task_status": T.FAILED, "stale_from": S.WORKING, "can_repeat": True}
    facts.update(returned_by=reason, has_uncommitted=is_dirty, reader=HQ)
    for state in (S.FAILED, S.STALE):
        assert next_command("auth", state, **facts) == f"git worker {command}"


def test_a_conflict_of_a_running_process() -> None:
    """The process of the worker is asked to rebase, since a rebase from outside is refused."""
    facts: dict[str, Any] = {"task_status": T.IN_PROGRESS, "stale_from": None, "reader": HQ}
    facts.update(returned_by="merge_conflict", waits_for_author=True, runs_elsewhere=True)
    assert next_command("auth", S.WORKING, **facts) == sync_request("auth")


@pytest.mark.parametrize(
    ("reason", "is_dirty", "command"),
    [
        (None, False, "git worker done auth"),
        (None, True, "git worker done auth --commit -m <text>"),
        ("merge_conflict", False, "git worker sync --as auth"),
        ("merge_conflict", True, "git worker sync --as auth"),
        ("changes_requested", False, "git worker done auth   # after your next commit"),
        ("changes_requested", True, "git worker done auth --commit -m <text>"),
        ("verify_failed", False, "git worker done auth   # after your next commit"),
        ("withdrawn", False, "git worker done auth"),
    ],
)
def test_the_way_on_of_the_author(reason: str | None, is_dirty: bool, command: str) -> None:
    """The worker itself hands in; sent-back work needs a commit or a sync before that."""
    facts: dict[str, Any] = {"task_status": T.IN_PROGRESS, "stale_from": None}
    facts.update(returned_by=reason, has_uncommitted=is_dirty, waits_for_author=True)
    assert next_command("auth", S.WORKING, reader=AUTHOR, **facts) == command


def test_the_way_on_of_a_taken_task() -> None:
    """A failed worker whose task another worker has cannot resume it."""
    facts: dict[str, Any] = {"task_status": T.IN_PROGRESS, "stale_from": None, "reader": HQ}
    taken = is_taken("auth", "docs")
    assert next_command("auth", S.FAILED, is_taken=taken, **facts) == "git worker reset auth"
    assert not is_taken("auth", "auth")
    assert not is_taken("auth", None)


@pytest.mark.parametrize(
    ("state", "command"),
    [
        (S.IN_REVIEW, "git worker wait auth --for verdict"),
        (S.APPROVED, "git worker wait auth --for landed"),
        (S.STALE, "git worker wait auth --for verdict"),
        (S.WORKING, "git worker done auth"),
    ],
)
def test_a_worker_does_not_review_itself(state: WorkerState, command: str) -> None:
    """A worker that asks is not sent to the approval of its own work, which it would be refused."""
    facts: dict[str, Any] = {"task_status": None}
    facts["stale_from"] = S.IN_REVIEW if state is S.STALE else None
    assert next_command("auth", state, reader=AUTHOR, **facts) == command


def test_self_review() -> None:
    """A worker that may review its own work is sent to the approval."""
    facts: dict[str, Any] = {"task_status": None, "stale_from": None}
    found = next_command("auth", S.IN_REVIEW, reader=Reading("auth", self_review=True), **facts)
    assert found == "git worker approve auth"


def test_every_state_has_a_next_command() -> None:
    """Every state has a next command."""
    assert set(NEXT_COMMANDS) == set(WorkerState)


@pytest.mark.parametrize(
    ("state", "heartbeat", "liveness"),
    [
        (S.WORKING, None, Liveness.UNKNOWN),
        (S.WORKING, Heartbeat(0, 499_000, "boot", "here"), Liveness.OK),
        (S.WORKING, Heartbeat(960_000), Liveness.WARN),
        (S.STALE, Heartbeat(0, 390_000, "boot", "here"), Liveness.STALE),
        (S.STALE, Heartbeat(0), Liveness.DEAD),
        (S.IN_REVIEW, Heartbeat(0), Liveness.UNKNOWN),
        (S.IDLE, Heartbeat(0), Liveness.UNKNOWN),
    ],
)
def test_liveness(state: WorkerState, heartbeat: Heartbeat | None, liveness: Liveness) -> None:
    """Only a worker that should send heartbeats is judged by its silence."""
    assert worker_liveness(state, heartbeat, MOMENT, Settings()) is liveness
    ended = worker_liveness(state, heartbeat, MOMENT, Settings(), has_ended=True)
    assert ended is Liveness.UNKNOWN


def test_the_silence_of_returned_work_means_nothing() -> None:
    """A worker that waits for its author is shown as OK or not at all."""
    fresh = Heartbeat(0, 499_000, "boot", "here")
    found = [
        worker_liveness(S.WORKING, heartbeat, MOMENT, Settings(), waits_for_author=True)
        for heartbeat in (fresh, Heartbeat(0))
    ]
    assert found == [Liveness.OK, Liveness.UNKNOWN]


NEWS = {"error": None, "returned": None, "problems": (), "waits": None, "subject": None}


@pytest.mark.parametrize(
    ("state", "facts", "news"),
    [
        (S.FAILED, {"error": "tests do not pass", "waits": "a resume"}, "tests do not pass"),
        (S.FAILED, {"waits": "a resume", "subject": "Add x"}, "waits for a resume"),
        (S.WORKING, {"error": "an old error", "subject": "Add x"}, "Add x"),
        (S.WORKING, {}, "no commit yet"),
        (S.WORKING, {"elsewhere": "alpha"}, "on alpha"),
        (S.WORKING, {"waits": "an answer", "subject": "Add x"}, "waits for an answer"),
        (S.WORKING, {"returned": "conflict in a", "problems": ("p",)}, "conflict in a"),
        (S.WORKING, {"trouble": "HEAD is detached", "returned": "note"}, "HEAD is detached"),
        (
            S.WORKING,
            {"trouble": "t", "returned": "conflict in a", "has_conflict": True},
            "conflict in a; t",
        ),
        (
            S.FAILED,
            {"error": "e", "returned": "conflict in a", "has_conflict": True},
            "conflict in a; e",
        ),
        (
            S.IN_REVIEW,
            {"waits": "a review", "returned": "conflict in a", "has_conflict": True},
            "waits for a review",
        ),
        (S.WORKING, {"end": "its agent ended", "problems": ("p",)}, "its agent ended"),
        (S.IN_REVIEW, {"returned": "conflict in a", "waits": "a review"}, "waits for a review"),
        (S.IN_REVIEW, {"problems": ("p", "q"), "waits": "a review"}, "p; q"),
        (S.COMPLETED, {"problems": ("p",), "waits": "its next task"}, "waits for its next task"),
    ],
)
def test_news(state: WorkerState, facts: dict[str, Any], news: str) -> None:
    """A failure comes first, then the reason of a return, problems, the awaited thing, a commit."""
    assert news_of(state, **{**NEWS, **facts}) == news


def test_next_command_of_returned_work() -> None:
    """A conflict is resolved by sync before the work is handed in again; a question comes first."""
    facts: dict[str, Any] = {"stale_from": None, "returned_by": "merge_conflict", "reader": AUTHOR}
    assert next_command("auth", S.WORKING, task_status=None, **facts) == (
        "git worker sync --as auth"
    )
    assert next_command("auth", S.WORKING, task_status=T.WAITING_INPUT, **facts) == (
        "git worker reply auth <text>"
    )
    facts["reader"] = HQ
    assert next_command("auth", S.IN_REVIEW, task_status=None, **facts) == (
        "git worker approve auth"
    )


def test_places_of_states() -> None:
    """Every state has a place of its own on the screen, WORKING the first."""
    assert sorted(PLACES.values()) == list(range(len(WorkerState)))
    assert PLACES[S.WORKING] == 0


@pytest.mark.parametrize(
    ("rule", "true_of"),
    [
        (is_free, {WorkerState.IDLE, WorkerState.COMPLETED}),
        (has_landed, {WorkerState.COMPLETED}),
        (is_at_work, {WorkerState.WORKING}),
    ],
)
def test_words_for_states(rule: Callable[[WorkerState], bool], true_of: set[WorkerState]) -> None:
    """Each predicate holds for exactly the states of its name."""
    assert {state for state in WorkerState if rule(state)} == true_of


def test_old_workers() -> None:
    """Only a worker that completed its task more than a day ago is old."""
    day_ms = 86_400_000
    assert is_old(S.COMPLETED, age_ms=day_ms + 1)
    assert not is_old(S.COMPLETED, age_ms=day_ms)
    assert not is_old(S.FAILED, age_ms=9 * day_ms)


def test_needs_command() -> None:
    """Failed and stale workers need a command, and working ones whose work came back."""
    assert [state for state in S if needs_command(state, returned=False)] == [
        S.IN_REVIEW, S.APPROVED, S.STALE, S.FAILED,
    ]  # fmt: skip
    assert needs_command(S.WORKING, returned=True)
    assert not needs_command(S.ASSIGNED, returned=True)
