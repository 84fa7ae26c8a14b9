"""The operations that can be undone now, by tables over states and facts."""

import pytest

from gitworker.claims.rules_claim import HELD
from gitworker.errors import Refused
from gitworker.journal.undo.rules_undo import (
    LandedWindow,
    done_refusal,
    events_back,
    is_completed,
    landing_refusal,
    later_refusal,
    may_undo,
    return_refusal,
    review_state_of,
    skip_refusal,
    skipped_words,
    taken_back_as,
    undo_refusal,
    with_older,
    withdrawn_refusal,
    worker_refusal,
)
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.states.worker_machine import worker_transition

W = WorkerState
OLD, NEW = "a" * 40, "b" * 40
NAMES = ("w1", "w2", "w3", "w4", "w5", "w6", "w7")


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"tip": NEW}, None),
        ({"tip": OLD}, "main has moved since"),
        ({"tip": None}, "branch main does not exist"),
        ({"tip": NEW, "remote": "origin/main"}, "origin/main already has it"),
        ({"tip": NEW, "builders": ["docs"]}, "docs builds on it"),
        ({"tip": NEW, "builders": NAMES}, "w1, w2, w3, w4, w5 and 2 more build on it"),
    ],
)
def test_landings_that_can_be_undone(facts: dict[str, object], why: str | None) -> None:
    """A landing can be undone if it is the newest, not published, and nothing is stacked on it."""
    refusal = landing_refusal(LandedWindow("main", OLD, NEW, **facts))  # type: ignore[arg-type]
    assert (refusal and refusal.message) == (why and f"the landing cannot be undone: {why}")
    if refusal is not None:
        assert refusal.hint is not None
        assert refusal.hint.startswith(f"git revert {OLD[:12]}..{NEW[:12]}")


@pytest.mark.parametrize("state", WorkerState)
@pytest.mark.parametrize(("same_task", "has_task"), [(True, True), (False, True), (False, False)])
def test_workers_that_get_their_task_back(
    state: WorkerState, same_task: bool, has_task: bool
) -> None:
    """A worker gets its landed task back while it is free and has no other."""
    refusal = worker_refusal("auth", state, same_task=same_task, has_task=has_task)
    free = state in (W.IDLE, W.COMPLETED) and (same_task or not has_task)
    assert (refusal is None) is free
    assert refusal is None or (refusal.code, refusal.hint) == ("moved_on", "git worker show auth")


def test_tasks_that_are_reopened() -> None:
    """Only a completed task is reopened when its work is withdrawn."""
    assert [status for status in TaskStatus if is_completed(status)] == [TaskStatus.COMPLETED]


def test_operations_that_are_undone_first() -> None:
    """A later operation on the same work is named by its number."""
    assert later_refusal("approve", None) is None
    refusal = later_refusal("approve", (17, "merge"))
    assert refusal is not None
    assert refusal.hint == "git worker undo 17"
    assert "merge (17)" in refusal.message


@pytest.mark.parametrize("task", TaskStatus)
@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize(
    ("before", "stale_from", "again"),
    [
        (W.ASSIGNED, None, W.ASSIGNED),
        (W.WORKING, None, W.WORKING),
        (W.IN_REVIEW, None, W.IN_REVIEW),
        (W.APPROVED, None, W.APPROVED),
        (W.FAILED, None, W.FAILED),
        (W.STALE, W.WORKING, W.WORKING),
        (W.STALE, W.IN_REVIEW, W.IN_REVIEW),
        (W.STALE, None, W.WORKING),
    ],
)
def test_the_way_back(
    before: W, stale_from: W | None, again: W, approved: bool, task: TaskStatus
) -> None:
    """Legal events lead an IDLE worker back; a lost approval leads to the review."""
    state = W.IDLE
    for event in events_back(before, stale_from, approved=approved, task=task):
        state = worker_transition(state, event)
    assert state == (W.IN_REVIEW if again is W.APPROVED and not approved else again)


def test_the_state_of_the_review() -> None:
    """Only work in review and approved work has a state of the review."""
    found = {state: review_state_of(state) for state in W if review_state_of(state)}
    assert found == {W.IN_REVIEW: "pending", W.APPROVED: "approved"}


@pytest.mark.parametrize(
    ("hint", "workers", "said", "expected"),
    [
        (None, "docs", "cancel 3 of docs", "git worker undo --list   # or undo"),
        ("git revert a..b   # new commits", "", "cancel 3", "git revert a..b   # new commits; or"),
    ],
)
def test_an_older_operation(hint: str | None, workers: str, said: str, expected: str) -> None:
    """The refusal of the newest operation names the number of an older one."""
    error = with_older(Refused("no", hint, code="why"), (3, "cancel"), workers)
    assert (error.code, error.message) == (
        "why", f"no; the newest operation that can be undone is {said}",
    )  # fmt: skip
    assert error.hint
    assert error.hint.startswith(expected)
    assert error.hint.endswith("git worker undo 3")


GOOD = Refused("no", "git revert a..b   # new", code="landed_for_good")
OBSTACLE = Refused("no", "mv a b", code="path_exists")


@pytest.mark.parametrize(
    ("skipped", "is_own", "moves_target", "expected"),
    [
        ([], True, True, None),
        ([], False, True, None),
        ([(GOOD, True)], True, False, None),
        ([(GOOD, True)], True, True, GOOD),
        ([(GOOD, True)], False, False, GOOD),
        ([(GOOD, False)], True, True, None),
        ([(OBSTACLE, False)], True, True, None),
        ([(OBSTACLE, True)], True, False, OBSTACLE),
        ([(GOOD, True), (OBSTACLE, True)], True, False, OBSTACLE),
    ],
)
def test_newer_operations_that_are_skipped(
    skipped: list[tuple[Refused, bool]], is_own: bool, moves_target: bool, expected: Refused | None
) -> None:
    """Only operations that can never be undone are skipped, and never for a landing."""
    assert skip_refusal(skipped, is_own=is_own, moves_target=moves_target) is expected


def test_the_words_of_a_skipped_operation() -> None:
    """A landing that cannot be undone is named with the command that reverts it."""
    assert skipped_words(GOOD) == "no (to revert it: git revert a..b)"
    assert skipped_words(OBSTACLE) == "no"


@pytest.mark.parametrize(
    ("actor", "self_review", "allowed"),
    [("hq", False, True), ("auth", False, True), ("docs", False, False), ("docs", True, True)],
)
def test_permission_to_undo(actor: str, self_review: bool, allowed: bool) -> None:
    """A worker may undo its own operations; the others are left to people."""
    refusal = may_undo(actor, "auth", self_review=self_review)
    assert (refusal is None) is allowed
    assert refusal is None or refusal.code == "not_allowed"


@pytest.mark.parametrize("state", WorkerState)
@pytest.mark.parametrize("same_task", [True, False])
@pytest.mark.parametrize("kind", ["approve", "cancel", "reset", "remove"])
def test_operations_that_can_be_undone(kind: str, state: WorkerState, same_task: bool) -> None:
    """An operation is undone only if its worker has the same state and task as after it."""
    after = {"approve": W.APPROVED, "cancel": W.IDLE, "reset": W.IDLE, "remove": W.COMPLETED}
    refusal = undo_refusal(kind, worker="auth", state=state, same_task=same_task)
    allowed = after[kind] is state and (same_task or state is W.IDLE)
    assert (refusal is None) is allowed
    if refusal is not None:
        assert refusal.code == "moved_on"


@pytest.mark.parametrize("state", WorkerState)
def test_an_undone_adoption(state: WorkerState) -> None:
    """The task is READY again if work has not begun, stays after a failure, else ends."""
    refusal = undo_refusal("adopt", worker="auth", state=state, same_task=True)
    assert (refusal is None) is (state in (W.ASSIGNED, W.FAILED))
    means = {W.ASSIGNED: "undo", W.FAILED: "reset"}
    assert taken_back_as(state) == means.get(state, "cancel")


@pytest.mark.parametrize("status", TaskStatus)
def test_tasks_that_are_done(status: TaskStatus) -> None:
    """A task that others have completed since does not return."""
    assert (done_refusal("t1", status) is None) is (status is not TaskStatus.COMPLETED)


@pytest.mark.parametrize("status", TaskStatus)
@pytest.mark.parametrize("holder", [None, "docs"])
def test_tasks_that_can_be_given_back(status: TaskStatus, holder: str | None) -> None:
    """A task is given back to its worker unless another agent holds it or works on it."""
    refusal = return_refusal("t1", status, holder=holder)
    held = status in HELD
    assert (refusal is None) is (holder is None and not held)


@pytest.mark.parametrize(
    ("status", "verb"), [(TaskStatus.CANCELLED, "cancelled"), (TaskStatus.COMPLETED, "skipped")]
)
def test_a_withdrawn_task(status: TaskStatus, verb: str) -> None:
    """The refusal says what has happened to the task, and names the command that reverses it."""
    found = withdrawn_refusal("login", status)
    assert found.message == f"task login was {verb}, which undo does not reverse"
    assert found.hint == "git worker task restart login"
