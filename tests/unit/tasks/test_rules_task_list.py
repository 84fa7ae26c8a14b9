"""The next command for a task without a worker."""

import pytest

from gitworker.model.task import TaskStatus
from gitworker.model.task_spec import OpenNeed
from gitworker.states.task_machine import has_ended
from gitworker.tasks.rules_task_list import (
    blocked_by_text,
    json_blocked_by,
    next_without_worker,
)

S = TaskStatus


@pytest.mark.parametrize(
    ("status", "waits_for", "retries_left", "command"),
    [
        (S.READY, [], True, "git worker spawn '<worker>' t1"),
        (S.DEFINED, ["t0"], True, None),
        (S.BLOCKED, [], True, "git worker spawn '<worker>' t1"),
        (S.BLOCKED, [], False, "git worker task restart t1"),
        (
            S.CANCELLED,
            [],
            True,
            "git worker task restart t1   # or undo it: git worker undo --list",
        ),
        (S.IN_PROGRESS, [], True, None),
        (S.COMPLETED, [], True, None),
    ],
)
def test_next_commands(
    status: TaskStatus, waits_for: list[str], retries_left: bool, command: str | None
) -> None:
    """A task that can be assigned is spawned; one without retries is restarted."""
    found = next_without_worker("t1", status, waits_for=waits_for, retries_left=retries_left)
    assert found == command


def test_ended_tasks() -> None:
    """Nothing is left to do for completed and cancelled tasks."""
    ended = {status for status in S if has_ended(status)}
    assert ended == {S.COMPLETED, S.CANCELLED}


def test_held_tasks() -> None:
    """A held task is released first."""
    found = next_without_worker("t1", S.READY, waits_for=[], retries_left=True, held=True)
    assert found == "git worker task release t1"


def test_tasks_that_others_wait_for() -> None:
    """A needed task that has stopped or does not exist is named with its status."""
    needs = [
        OpenNeed("a", "landed", S.READY), OpenNeed("b", "done", S.FAILED),
        OpenNeed("c", "landed", S.CANCELLED), OpenNeed("d", "landed", None),
    ]  # fmt: skip
    assert blocked_by_text(needs) == "a, b (FAILED), c (CANCELLED), d (does not exist)"
    assert json_blocked_by(needs[1:2]) == [{"task": "b", "until": "done", "status": "FAILED"}]
