"""A project: its fields, and why it starts no task."""

from dataclasses import replace

import pytest

from gitworker.errors import Invalid
from gitworker.model.project import Project, ProjectStatus
from gitworker.model.task import TaskStatus
from gitworker.tasks.projects.rules_project import (
    ProjectFields,
    closed_by,
    count_at_work,
    parse_project_id,
    status_refusal,
    task_refusal,
    with_project_fields,
)
from gitworker.tasks.rules_task_list import Why

WEB = Project("web", "Web")
S = TaskStatus


@pytest.mark.parametrize("text", ["", "Web", "-web", "w b", "w" * 64, "wëb"])
def test_bad_names(text: str) -> None:
    """A project has a short lower-case name."""
    with pytest.raises(Invalid, match="is not the name of a project"):
        parse_project_id(text)
    assert parse_project_id("web-2") == "web-2"


@pytest.mark.parametrize(
    "fields",
    [
        ProjectFields(weight=0), ProjectFields(weight=float("nan")), ProjectFields(weight=1001),
        ProjectFields(agents=-1), ProjectFields(agents=1001), ProjectFields(budget=-1),
        ProjectFields(name="a\nb"), ProjectFields(notify="a\0b"),
        ProjectFields(notify="no address"),
    ],
)  # fmt: skip
def test_bad_values(fields: ProjectFields) -> None:
    """A value outside its bounds is refused."""
    with pytest.raises(Invalid):
        with_project_fields(WEB, fields)


def test_given_values_replace_the_old_ones() -> None:
    """Only given fields change; a budget of 0 and an empty target mean none."""
    fields = ProjectFields("Shop", 3.0, 4, 10**6, "json://localhost")
    changed = with_project_fields(WEB, fields)
    assert changed == Project(
        "web", "Shop", 3.0, 4, budget_limit=10**6, discord_channel_id="json://localhost"
    )
    assert with_project_fields(changed, ProjectFields()) == changed
    assert with_project_fields(changed, ProjectFields(budget=0, notify="")) == replace(
        changed, budget_limit=None, discord_channel_id=None
    )


def test_a_closed_project_says_why() -> None:
    """A project starts nothing if it is not ACTIVE or has used its budget."""
    assert closed_by(WEB) is None
    assert closed_by(replace(WEB, status=ProjectStatus.PAUSED)) == Why(
        "its project web is paused", "git worker project resume web"
    )
    spent = replace(WEB, total_tokens_used=1500, budget_limit=1500)
    assert closed_by(spent) == Why(
        "its project web has used 1,500 of its 1,500 tokens",
        "git worker project edit web --budget <number>",
    )
    assert closed_by(replace(spent, total_tokens_used=1499)) is None


def test_tasks_of_a_project() -> None:
    """An unknown or archived project takes no task; one in use is not archived."""
    assert task_refusal("web", WEB, ()) is None
    unknown = task_refusal("wab", None, ["web", "default"])
    assert unknown is not None
    assert "there is no project wab: default, web" in unknown.message
    for bad in ("", "A B", "a" * 64):
        unnamed = task_refusal(bad, None, ["default"])
        assert unnamed is not None
        assert unnamed.hint == "git worker project list"
        assert f"there is no project {bad!r}: default" in unnamed.message
    archived = task_refusal("web", replace(WEB, status=ProjectStatus.ARCHIVED), ())
    assert archived is not None
    assert archived.code == "project_archived"
    counts = {S.COMPLETED: 3, S.CANCELLED: 1}
    archived_status = ProjectStatus.ARCHIVED
    assert status_refusal("web", archived_status, counts, default="default") is None
    assert status_refusal("default", ProjectStatus.PAUSED, {}, default="default") is None
    assert status_refusal("default", archived_status, {}, default="default") is not None
    counts |= {S.READY: 1, S.BLOCKED: 1}
    refusal = status_refusal("web", archived_status, counts, default="default")
    assert refusal is not None
    assert "2 open tasks" in refusal.message
    assert count_at_work({S.ASSIGNED: 1, S.IN_PROGRESS: 2, S.READY: 9}) == 3
