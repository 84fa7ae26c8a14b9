"""The result of each task of a run, in words."""

import pytest

from gitworker.model.task import TaskStatus
from gitworker.orchestrator.rules_next import Action, Step
from gitworker.orchestrator.rules_summary import (
    ASKS,
    Result,
    TaskFacts,
    action_text,
    count_others,
    exit_status,
    has_ended,
    is_news,
    is_open_dependency,
    next_command,
    result_of,
    totals,
)

S = TaskStatus


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        (TaskFacts("t", S.COMPLETED, "a-1"), "t has landed (a-1)"),
        (TaskFacts("t", S.READY), "t is ready"),
        (TaskFacts("t", S.READY, is_held=True), "t waits: it is held back"),
        (TaskFacts("t", S.READY, obstacle="no disk"), "t has failed: no disk"),
        (TaskFacts("t", S.DEFINED, waits_for=("b", "c")), "t is blocked: waits for b, c"),
        (TaskFacts("t", S.DEFINED), "t is blocked"),
        (TaskFacts("t", S.IN_PROGRESS, "a-1"), "t is running (a-1)"),
        (TaskFacts("t", S.IN_PROGRESS, returned="conflict"), "t came back: conflict"),
        (TaskFacts("t", S.VERIFYING), "t is in review"),
        (TaskFacts("t", S.VERIFYING, obstacle="in the way"), "t has failed: in the way"),
        (TaskFacts("t", S.COMPLETED, obstacle="before"), "t has landed"),
        (TaskFacts("t", S.FAILED, error="it crashed", retry_at="9:00"),
            "t has failed: it crashed; tried again at 9:00"),
        (TaskFacts("t", S.BLOCKED), "t has failed: no attempts are left"),
        (TaskFacts("t", S.PAUSED, limit="usage limit"), "t waits: usage limit"),
        (TaskFacts("t", S.WAITING_INPUT, question="asks: Why?"),
            "t waits: asks: Why?: git worker reply t <text>"),
        (TaskFacts("t", S.WAITING_INPUT), "t waits: its agent has not read the answer yet"),
        (TaskFacts("t", S.CANCELLED), "t is cancelled"),
    ],
)  # fmt: skip
def test_results(facts: TaskFacts, line: str) -> None:
    """Each status has a result, and the reason is part of the line."""
    assert result_of(facts).line == line


def test_every_status_has_a_result() -> None:
    """No status of a task is missing, and only final ones have ended."""
    assert {result_of(TaskFacts("t", status)).task for status in S} == {"t"}
    assert {status for status in S if has_ended(status)} == {S.COMPLETED, S.CANCELLED, S.BLOCKED}
    assert [status for status in S if is_open_dependency(status)] == [S.DEFINED]


def test_exit_status() -> None:
    """A failed task makes the status 1, an interrupt 130."""
    assert exit_status([Result.LANDED], is_interrupted=False) == 0
    assert exit_status([Result.LANDED, Result.FAILED], is_interrupted=False) == 1
    assert exit_status([Result.LANDED], is_interrupted=True) == 130
    assert exit_status([Result.SPENT], is_interrupted=False) == 1


@pytest.mark.parametrize(("left", "status"), [(Result.LANDED, 0), (Result.READY, 1)])
def test_a_used_budget_is_a_failure_if_something_is_left(left: Result, status: int) -> None:
    """Finished work alone needs no further tokens."""
    assert exit_status([Result.REVIEW, left], is_interrupted=False, is_spent=True) == status


def test_a_task_over_its_budget() -> None:
    """It was stopped, and the next command raises its budget; a pause by the run waits."""
    facts = TaskFacts("t", S.PAUSED, "a-1", limit="no tokens", is_spent=True)
    found = result_of(facts)
    assert found.line == "t was stopped (a-1): no tokens"
    assert next_command([found], lands=True) == "git worker task edit t --budget <number>"
    assert result_of(facts._replace(is_spent=False)).line == "t waits (a-1): no tokens"


def test_totals_and_next_command() -> None:
    """The totals follow the order of the results; review comes before failures."""
    review = result_of(TaskFacts("r", S.VERIFYING, "a-1"))
    failed = result_of(TaskFacts("f", S.BLOCKED, "a-2"))
    alone = result_of(TaskFacts("g", S.BLOCKED))
    landed = result_of(TaskFacts("l", S.COMPLETED))
    others = count_others({S.COMPLETED: 9, S.BLOCKED: 9, S.READY: 4, S.PAUSED: 1}, [S.READY] * 3)
    assert others == {Result.READY: 1, Result.WAITING: 1}
    assert totals([failed, landed, landed], others) == "2 landed, 1 ready, 1 waiting, 1 failed"
    assert totals([], {}) == "no tasks"
    assert next_command([failed, review], lands=False) == "git worker land --all"
    assert next_command([failed, review], lands=True) == "git worker land a-1"
    assert next_command([landed, failed], lands=True) == "git worker show a-2"
    assert next_command([alone], lands=True) == "git worker task list"
    assert next_command([landed], lands=True) is None
    assert next_command([alone], lands=True, commands={"g": "git worker agent list"}) == (
        "git worker agent list"
    )
    asking = landed._replace(task="q", detail=f"{ASKS}Which port?")
    assert next_command([asking, review], lands=True) == "git worker reply q <text>"


def test_progress() -> None:
    """A start has a sentence of its own; other changes are reported by their result."""
    assert action_text(Action(Step.ROUND, "a-1", "t")) == "a-1 starts on t again"
    assert is_news(result_of(TaskFacts("t", S.COMPLETED)))
    assert not is_news(result_of(TaskFacts("t", S.IN_PROGRESS)))
    assert result_of(TaskFacts("t", S.READY)).result is Result.READY
