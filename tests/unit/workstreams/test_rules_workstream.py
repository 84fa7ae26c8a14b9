"""The consequences of a workstream's state, and its files."""

import pytest

from gitworker.model.task import TaskStatus
from gitworker.model.task_spec import Need
from gitworker.model.workstream import Member, WorkstreamState
from gitworker.workstreams.rules_workstream import (
    STOPPED_BY,
    execution_stages,
    plan_text,
    tasks_to_cancel,
    tasks_to_drop,
    validation_refusal,
)

S = WorkstreamState


def made(text: str) -> list[Member]:
    """Return members a, b, … from statuses; a `-` marks one that is not critical."""
    return [
        Member(name, "", TaskStatus(word.strip("-")), "-" not in word, 0, None, None, None, None)
        for name, word in zip("abcdef", text.split(), strict=False)
    ]


@pytest.mark.parametrize(
    ("state", "tasks", "cancelled", "dropped"),
    [
        (S.EXECUTING, "IN_PROGRESS BLOCKED-", [], []),
        (S.EXECUTING, "COMPLETED BLOCKED- CANCELLED", [], ["b"]),
        (S.EXECUTING, "COMPLETED BLOCKED- READY", [], []),
        (S.FAILED, "BLOCKED IN_PROGRESS DEFINED COMPLETED CANCELLED", ["b", "c"], []),
        (S.CANCELLED, "FAILED PAUSED BLOCKED", ["a", "b"], []),
        (S.COMPLETED, "COMPLETED READY", [], []),
    ],
)
def test_ends_of_tasks(state: S, tasks: str, cancelled: list[str], dropped: list[str]) -> None:
    """A failed or cancelled workstream cancels open tasks; failures are dropped last of all."""
    assert tasks_to_cancel(state, made(tasks)) == cancelled
    assert tasks_to_drop(state, made(tasks)) == dropped


def test_stopped_tasks_are_cancelled_too() -> None:
    """A task that is BLOCKED because its agent was stopped for the end is cancelled as well."""
    (one,) = made("BLOCKED")
    stopped = one._replace(last_error=f"stopped by orchestrator: {STOPPED_BY[S.FAILED]}")
    assert tasks_to_cancel(S.FAILED, [one, stopped]) == ["a"]


def test_stages() -> None:
    """A stage has the tasks that need only earlier stages; needs outside do not count."""
    needs = {"b": [Need("a")], "c": [Need("a"), Need("z")], "d": [Need("b"), Need("c")]}
    assert execution_stages(made("READY " * 4), needs) == [["a"], ["b", "c"], ["d"]]
    assert "the verify commands" in plan_text("w", "", [["a"]], ())


@pytest.mark.parametrize("state", list(S))
def test_only_complete_work_is_validated(state: S) -> None:
    """The validation is refused unless all tasks are complete now; a branch may land again."""
    refusal = validation_refusal("w", state, S.VALIDATING, has_to_land=False)
    assert (refusal is None) == (state is S.VALIDATING)
    refusal = validation_refusal("w", state, S.VALIDATING, has_to_land=True)
    assert (refusal is None) == (state in (S.VALIDATING, S.COMPLETED))
    for has_to_land in (False, True):
        refusal = validation_refusal("w", state, S.EXECUTING, has_to_land=has_to_land)
        assert refusal is not None
