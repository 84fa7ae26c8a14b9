"""The rules of a worker, by tables over every state and status."""

import pytest

from gitworker.lifecycle import rules
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState

W, T = WorkerState, TaskStatus


@pytest.mark.parametrize(
    ("rule", "true_of"),
    [
        (rules.is_landed, {W.COMPLETED}),
        (rules.is_assigned, {W.ASSIGNED}),
        (rules.is_approved, {W.APPROVED}),
        (rules.is_stale, {W.STALE}),
    ],
)
def test_words_for_states(rule: object, true_of: set[WorkerState]) -> None:
    """Each predicate holds for exactly the states of its name."""
    assert callable(rule)
    assert {state for state in WorkerState if rule(state)} == true_of


def test_placeholders_are_no_names() -> None:
    """The placeholders of the help are no names of new tasks; other words are."""
    refused = rules.name_refusal("auth", "TASK")
    assert refused is not None
    assert refused.hint == "git worker spawn auth <task>"
    assert rules.name_refusal("auth", "task") is None


@pytest.mark.parametrize(
    ("rule", "true_of"),
    [
        (rules.needs_no_heartbeat, {T.PAUSED, T.WAITING_INPUT}),
        (rules.waits_for_retry, {T.FAILED}),
        (rules.is_cancelled, {T.CANCELLED}),
        (rules.waits_for_dependencies, {T.DEFINED, T.READY}),
    ],
)
def test_words_for_statuses(rule: object, true_of: set[TaskStatus]) -> None:
    """Each predicate holds for exactly the statuses of its name."""
    assert callable(rule)
    assert {status for status in TaskStatus if rule(status)} == true_of


@pytest.mark.parametrize("state", WorkerState)
def test_workers_that_can_take_a_task(state: WorkerState) -> None:
    """Only an IDLE or COMPLETED worker takes a task; the refusal of others has a hint."""
    refusal = rules.busy_refusal("auth", state, "t1")
    if state in (W.IDLE, W.COMPLETED):
        assert refusal is None
        return
    assert refusal is not None
    assert "auth" in refusal.message
    assert "t1" in refusal.message
    verb = "reset" if state is W.FAILED else "show"
    hint, _, remark = str(refusal.hint).partition("   # ")
    assert (hint, "task edit t1" in remark) == (f"git worker {verb} auth", state is W.ASSIGNED)


def test_work_that_was_sent_back_keeps_its_worker() -> None:
    """The refusal of another task says why the work waits for its author, and continues it."""
    waiting = ("waits for its author (conflict in README)", "git worker sync --as auth")
    refusal = rules.busy_refusal("auth", W.WORKING, "t1", waiting=waiting)
    assert refusal is not None
    assert (
        refusal.message == f"worker auth holds task t1 and {waiting[0]}, so it cannot take another"
    )
    assert refusal.hint == waiting[1]


@pytest.mark.parametrize("status", TaskStatus)
@pytest.mark.parametrize("waits_for", [[], ["t0"]])
@pytest.mark.parametrize("retries_left", [True, False])
def test_tasks_that_can_be_assigned(
    status: TaskStatus, waits_for: list[str], retries_left: bool
) -> None:
    """A task is assigned when free or stopped, with its dependencies met and a retry left."""
    refusal = rules.task_refusal(
        "t1", status, waits_for=waits_for, holder="docs", retries_left=retries_left
    )
    free = (status in (T.READY, T.DEFINED) and not waits_for) or (
        status in (T.FAILED, T.BLOCKED) and retries_left
    )
    assert (refusal is None) is free
    if refusal is not None:
        assert "t1" in refusal.message
        assert refusal.hint


def test_a_holder_without_a_name() -> None:
    """A task that an unknown agent holds is still refused."""
    refusal = rules.task_refusal("t1", T.ASSIGNED, waits_for=[], holder=None, retries_left=True)
    assert refusal is not None
    assert "another worker" in refusal.message
    assert refusal.hint == "git worker show t1"


@pytest.mark.parametrize(
    ("actor", "self_review", "allowed"),
    [
        ("hq", False, True),
        ("orchestrator", False, True),
        ("docs", False, True),
        ("auth", False, False),
        ("auth", True, True),
    ],
)
def test_permission_to_judge(actor: str, self_review: bool, allowed: bool) -> None:
    """A worker may not judge its own work unless the team's setting allows it."""
    refusal = rules.may_judge(actor, "auth", self_review=self_review)
    assert (refusal is None) is allowed
    assert refusal is None or refusal.code == "not_allowed"


@pytest.mark.parametrize(
    ("state", "hint"),
    [
        (None, "wait auth --for verdict"), (WorkerState.IN_REVIEW, "wait auth --for verdict"),
        (WorkerState.APPROVED, "wait auth --for landed"), (WorkerState.WORKING, "done"),
        (WorkerState.COMPLETED, "show auth"),
    ],
)  # fmt: skip
def test_own_work_has_a_next_command(state: WorkerState | None, hint: str) -> None:
    """A worker that may not judge its own work hands it in, or waits for others."""
    refusal = rules.may_judge("auth", "auth", self_review=False, state=state)
    assert refusal is not None
    assert str(refusal.hint).partition("   # ")[0] == f"git worker {hint}"


def test_a_failed_verification_ends_a_task_without_retries() -> None:
    """Only a task that is being verified ends, and only if it has no retry left."""
    assert rules.verification_ends(TaskStatus.VERIFYING, retries_left=False)
    assert not rules.verification_ends(TaskStatus.VERIFYING, retries_left=True)
    assert not rules.verification_ends(TaskStatus.IN_PROGRESS, retries_left=False)


def test_operations_that_assign() -> None:
    """Spawn and adopt give a worker its task; no other operation does."""
    kinds = ("spawn", "adopt", "approve", "merge", "cancel", "undo")
    assert [kind for kind in kinds if rules.assigns_worker(kind)] == ["spawn", "adopt"]


def test_the_back_off_has_a_cap_and_a_spread() -> None:
    """It doubles up to an hour, and tasks that failed together start apart."""
    waits = [rules.retry_wait_ms("t1", delay_s=60, count=count) for count in range(12)]
    for count, wait_ms in enumerate(waits):
        least_ms = min(60 * 2**count, 3600) * 1000
        assert least_ms <= wait_ms <= least_ms * 1.1
    assert (
        len({rules.retry_wait_ms(f"t{number}", delay_s=60, count=0) for number in range(50)}) > 25
    )
    assert rules.retry_wait_ms("t1", delay_s=0, count=3) == 0
    assert rules.retry_wait_ms("t1", delay_s=7200, count=3) >= 7_200_000
