"""The tasks of a plan, from any format."""

from typing import Any

import pytest

from gitworker.errors import Invalid
from gitworker.model.task import VerificationType
from gitworker.model.task_spec import Need
from gitworker.tasks.plan.rules_json_lines import parse_json_lines
from gitworker.tasks.plan.rules_plan import planned_task, require_unique
from gitworker.tasks.queue.rules_fields import TaskFields


def test_all_fields() -> None:
    """Each field is read; numbers and yes or no can be texts, lists can be one text."""
    values: dict[str, Any] = {
        "id": 12, "title": "T", "text": "x", "needs": ["a", "b:done"], "priority": "-5",
        "retries": 1, "verify": "qa", "approval": "no", "critical": True, "test": "make",
        "accept": ["one", "two"], "context": "c", "path": "src", "timeout": 9, "agent": None,
        "budget": "1.5k",
    }  # fmt: skip
    task = planned_task(3, values)
    assert (task.id, task.line, task.needs) == ("12", 3, (Need("a"), Need("b", "done")))
    assert task.fields == TaskFields(
        "T", "x", -5, VerificationType.QA_AGENT, 1, False, ("one", "two"), ("make",), ("c",),
        ("src",), 9, None, True, budget_tokens=1500,
    )  # fmt: skip


def test_an_empty_project() -> None:
    """An empty project is not given, so that the task keeps its own or gets the default."""
    assert planned_task(1, {"id": "a", "project": ""}).fields == TaskFields()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"id": "a", "name": 1}, "'name' is not a field of a task"),
        ({"id": True}, "id must be a text"),
        ({"id": "a", "title": 3}, "title must be a text"),
        ({"id": "a", "test": [True]}, "test must be a text or a list of texts"),
        ({"id": "a", "needs": {"b": 1}}, "needs must be a text or a list"),
        ({"id": "a", "priority": 1.5}, "priority must be a whole number"),
        ({"id": "a", "priority": "9" * 12}, "priority must be a whole number"),
        ({"id": "a", "budget": "much"}, "'much' is not a number of tokens"),
        ({"id": "a", "budget": 1.5}, "budget must be a whole number"),
        ({"id": "a", "approval": "maybe"}, "approval must be yes or no"),
        ({"id": "a", "verify": "luck"}, "verify must be one of auto, qa, human"),
        ({"id": "a", "verify": 1}, "verify must be one of"),
        ({}, "a task needs an id"),
    ],
)
def test_bad_values(values: dict[str, Any], message: str) -> None:
    """A bad value is refused with its line."""
    with pytest.raises(Invalid, match=f"line 7: {message}"):
        planned_task(7, values)


def test_ids_are_unique() -> None:
    """Two tasks with the same id are refused, also if only letter case differs."""
    tasks = [planned_task(1, {"id": "a"}), planned_task(4, {"id": "A"})]
    require_unique(tasks[:1])
    with pytest.raises(Invalid, match="line 4: task A is in line 1 already"):
        require_unique(tasks)


def test_json_lines() -> None:
    """Each line is one task; empty lines are skipped."""
    found = parse_json_lines('\ufeff{"id": "a"}\n\n{"title": "Next", "needs": "a"}\n')
    assert [(task.id, task.line) for task in found] == [("a", 1), ("Next".lower(), 3)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "a"}\n{"id": ', "line 2: this is not JSON"),
        ('{"id": "a", "title": "A", "title": "B"}', "line 1: 'title' is given twice"),
        ("[1]", "line 1: a line must be one object"),
        ("[" * 100_000, "line 1: this is not JSON"),
        ('{"id": "a", "title": 1}', "line 1: title must be a text"),
    ],
)
def test_bad_json(text: str, message: str) -> None:
    """A line that is no task is named."""
    with pytest.raises(Invalid) as caught:
        parse_json_lines(text)
    assert caught.value.message.startswith(message)
