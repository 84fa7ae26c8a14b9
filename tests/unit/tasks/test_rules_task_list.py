"""The next command for a task without a worker."""

import pytest

from gitworker.model.task import TaskStatus
from gitworker.tasks.rules_task_list import has_ended, next_without_worker

S = TaskStatus


@pytest.mark.parametrize(
    ("status", "waits_for", "retries_left", "command"),
    [
        (S.READY, [], True, "git worker spawn '<worker>' t1"),
        (S.DEFINED, ["t0"], True, None),
        (S.BLOCKED, [], True, "git worker spawn '<worker>' t1"),
        (S.BLOCKED, [], False, "git worker spawn <worker> <task>   # t1 has no retries left"),
        (S.CANCELLED, [], True, "git worker undo --list   # undo its cancel by number"),
        (S.IN_PROGRESS, [], True, None),
        (S.COMPLETED, [], True, None),
    ],
)
def test_next_commands(
    status: TaskStatus, waits_for: list[str], retries_left: bool, command: str | None
) -> None:
    """A task that can be assigned is spawned; one without retries needs another id."""
    found = next_without_worker("t1", status, waits_for=waits_for, retries_left=retries_left)
    assert found == command


def test_ended_tasks() -> None:
    """Nothing is left to do for completed and cancelled tasks."""
    ended = {status for status in S if has_ended(status)}
    assert ended == {S.COMPLETED, S.CANCELLED}
