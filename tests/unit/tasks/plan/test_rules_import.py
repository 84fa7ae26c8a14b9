"""The effect of an import on each task."""

import pytest

from gitworker.errors import Invalid, Refused
from gitworker.model.task import TaskStatus
from gitworker.model.task_spec import Need, TaskSpec
from gitworker.tasks.plan.rules_import import (
    Fate,
    fate_of,
    require_agents,
    require_projects,
    require_sound,
    stranger_refusal,
    wanted_spec,
)
from gitworker.tasks.plan.rules_plan import planned_task

SPEC = TaskSpec("a", title="T", text="x", plan_source="plan.md", position=1)
S = TaskStatus


def test_wanted_values() -> None:
    """The plan's values replace others; a bad one is refused with its line."""
    task = planned_task(3, {"id": "a", "title": "U"})
    assert wanted_spec(SPEC, task, source="p", position=2) == SPEC._replace(
        title="U", plan_source="p", position=2
    )
    bad = planned_task(3, {"id": "a", "title": "a\0b"})
    with pytest.raises(Invalid, match="line 3: title has a NUL"):
        wanted_spec(SPEC, bad, source="p", position=2)


@pytest.mark.parametrize(
    ("title", "status", "same_needs", "fate"),
    [
        ("T", S.COMPLETED, True, Fate.UNCHANGED),
        ("U", S.READY, True, Fate.UPDATED),
        ("T", S.DEFINED, False, Fate.UPDATED),
        ("U", S.IN_PROGRESS, True, Fate.STARTED),
    ],
)
def test_fates(title: str, status: TaskStatus, same_needs: bool, fate: Fate) -> None:
    """A change reaches a task until it starts; another place in the plan is no change."""
    wanted = SPEC._replace(title=title, position=9)
    assert fate_of(SPEC, wanted, status, same_needs=same_needs) is fate


def test_other_tasks_with_the_id() -> None:
    """Another task with the id is refused, the same one of a renamed plan is not."""
    assert stranger_refusal(SPEC, SPEC._replace(title="U", text="y"), 3) is None
    renamed = SPEC._replace(plan_source="new.md")
    assert stranger_refusal(SPEC, renamed._replace(text="y"), 3) is None
    assert stranger_refusal(SPEC, renamed._replace(title="U"), 3) is None
    refusal = stranger_refusal(SPEC, renamed._replace(title="U", text="y"), 3)
    assert refusal is not None
    assert refusal.message.startswith("line 3: task a exists already and is of the plan plan.md")
    untitled = TaskSpec("a", plan_source="plan.md")
    assert stranger_refusal(untitled, untitled._replace(plan_source="new.md"), 3) is not None
    by_hand = stranger_refusal(TaskSpec("a", title="T"), renamed._replace(title="U"), 3)
    assert by_hand is not None
    assert "is of no plan" in by_hand.message


def test_agents_of_a_plan() -> None:
    """A task for an agent that does not exist is refused with its line."""
    tasks = [planned_task(1, {"id": "a"}), planned_task(4, {"id": "b", "agent": "claud"})]
    require_agents(tasks, ["claud"])
    with pytest.raises(Invalid, match="line 4: no agent is called 'claud': claude, pi"):
        require_agents(tasks, ["pi", "claude"])


def test_projects_of_a_plan() -> None:
    """A task of a project that takes no new tasks is refused with its line."""
    tasks = [planned_task(1, {"id": "a"}), planned_task(4, {"id": "b", "project": "shop"})]
    require_projects(tasks, ["shop"])
    with pytest.raises(Invalid, match="line 4: no open project is called 'shop': api, web"):
        require_projects(tasks, ["web", "api"])


def test_needs_of_a_plan() -> None:
    """Needs lead to tasks of the plan or known ones, and close no cycle."""
    one = planned_task(1, {"id": "a", "needs": ["b", "old"]})
    two = planned_task(2, {"id": "b"})
    require_sound([one, two], {"old"}, {})
    with pytest.raises(Invalid, match="line 1: a needs old, and there is no such task"):
        require_sound([one, two], set(), {})
    with pytest.raises(Refused, match="line 1: tasks would wait for each other: old needs a") as c:
        require_sound([one, two], {"old"}, {"old": [Need("a")]})
    assert c.value.code == "cyclic_dependency"
    with pytest.raises(Refused, match="line 2: tasks would wait for each other"):
        require_sound([one, two], {"a", "b", "old"}, {"b": [Need("a")]})
    emptied = planned_task(2, {"id": "b", "needs": []})
    require_sound([one, emptied], {"a", "b", "old"}, {"b": [Need("a")]})
