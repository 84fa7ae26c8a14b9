"""Commands of a person on a task: the statuses in which each is possible."""

import pytest

from gitworker.model.task import TaskEvent, TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.states.task_machine import status_words
from gitworker.workers.task_verbs import rules_task_verbs as rules

S = TaskStatus
E = TaskEvent
ACTIVE = {S.ASSIGNED, S.IN_PROGRESS, S.WAITING_INPUT, S.PAUSED, S.VERIFYING, S.AWAITING_APPROVAL}


@pytest.mark.parametrize(
    ("event", "possible"),
    [
        (E.ADMIN_RESTART, set(S) - {S.IN_PROGRESS}),
        (E.ADMIN_STOP, ACTIVE - {S.ASSIGNED}),
        (E.ADMIN_SKIP, {S.FAILED, S.BLOCKED}),
        (E.USER_CANCELLED, set(S) - {S.COMPLETED, S.CANCELLED}),
    ],
)
def test_possible_commands(event: TaskEvent, possible: set[TaskStatus]) -> None:
    """Each command is possible in its statuses, and a refusal names task, status and a command."""
    assert {status for status in S if rules.verb_refusal("t1", event, status) is None} == possible
    for status in set(S) - possible:
        refusal = rules.verb_refusal("t1", event, status)
        assert refusal is not None
        assert refusal.message.startswith(f"task t1 {status_words(status)}, so it cannot be ")
        assert "t1" in (refusal.hint or "")


def test_facts_about_statuses() -> None:
    """Workers have active tasks; a queued one can be waiting; an ended one is not edited."""
    assert {status for status in S if rules.is_in_hand(status)} == ACTIVE
    assert {status for status in S if rules.skips_dependencies(status)} == {S.DEFINED, S.READY}
    ended = {status for status in S if rules.edit_refusal("t1", status) is not None}
    assert ended == {S.COMPLETED, S.CANCELLED}
    assert rules.is_done_already(E.ADMIN_STOP, S.BLOCKED)
    assert not rules.is_done_already(E.ADMIN_RESTART, S.BLOCKED)
    assert rules.frees_worker(WorkerState.FAILED)
    assert not rules.frees_worker(WorkerState.COMPLETED)
