"""Projects of one repository: their tasks, their limits, their views."""

import pytest

from gitworker.errors import Invalid, NotFound, Refused
from gitworker.model.project import ProjectStatus, RepoSourceType
from gitworker.model.task import TaskStatus
from gitworker.tasks.plan.import_plan import import_plan
from gitworker.tasks.projects.change_project import (
    add_project,
    edit_project,
    set_project_status,
)
from gitworker.tasks.projects.read_projects import (
    json_project,
    read_project,
    read_projects,
    render_project,
    render_projects,
)
from gitworker.tasks.projects.rules_project import ProjectFields
from gitworker.tasks.queue.add_task import NewTask, add_task
from gitworker.tasks.queue.ready import read_ready
from gitworker.tasks.queue.rules_fields import TaskFields
from gitworker.tasks.task_list import read_tasks
from gitworker.tasks.views.show_task import read_task
from gitworker.tasks.views.task_facts import read_why
from gitworker.workers.task_verbs.change import edit_task
from tests.workers.world import World, unchanged


def add(world: World, task: str, project: str | None = None) -> str:
    """Add a task to a project."""
    return add_task(world.session(), NewTask(task, TaskFields(project_id=project))).task  # type: ignore[arg-type]


def test_tasks_of_two_projects(world: World) -> None:
    """Tasks are of a project, by default of `default`; a paused project starts none of them."""
    session = world.session()
    add_project(session, "web", ProjectFields(weight=3.0))
    add(world, "a", "web")
    add(world, "b")
    assert [one.id for one in read_ready(session, 9).tasks] == ["a", "b"]
    assert [one.task for one in read_tasks(session, project="web").tasks] == ["a"]
    set_project_status(session, "web", ProjectStatus.PAUSED)
    assert [one.id for one in read_ready(session, 9).tasks] == ["b"]
    found = read_why(session, "a")
    assert (found.reason, found.next_command) == (
        "its project web is paused", "git worker project resume web"
    )  # fmt: skip
    edit_task(session, "b", TaskFields(project_id="web"))
    assert read_task(session, "b").spec.project_id == "web"
    assert {one.project.id: dict(one.tasks) for one in read_projects(session)} == {
        "default": {}, "web": {TaskStatus.READY: 2},
    }  # fmt: skip
    with pytest.raises(NotFound, match="there is no project lost"), unchanged(world):
        add(world, "c", "lost")
    with pytest.raises(NotFound, match="there is no project lost"), unchanged(world):
        edit_task(session, "a", TaskFields(project_id="lost"))


def test_a_plan_names_projects(world: World) -> None:
    """The field `project` and the option of the import name a project; an unknown one a line."""
    session = world.session()
    add_project(session, "web", ProjectFields())
    add_project(session, "api", ProjectFields())
    plan = world.root / "plan.md"
    plan.write_text("- [ ] a: A (project: web)\n- [ ] b: B\n")
    import_plan(session, str(plan), project="api")
    assert [read_task(session, one).spec.project_id for one in "ab"] == ["web", "api"]
    plan.write_text("- [ ] c: C\n- [ ] d: D (project: lost)\n")
    with pytest.raises(Invalid, match="line 2: no open project is called 'lost': api"):
        import_plan(session, str(plan))


def test_a_project_is_archived_without_open_tasks(world: World) -> None:
    """A project with open tasks is not archived; an archived one takes no task until resumed."""
    session = world.session()
    add_project(session, "web", ProjectFields())
    add(world, "a", "web")
    with pytest.raises(Refused, match="has 1 open task;"):
        set_project_status(session, "web", ProjectStatus.ARCHIVED)
    edit_task(session, "a", TaskFields(project_id="default"))
    set_project_status(session, "web", ProjectStatus.ARCHIVED)
    with pytest.raises(Refused, match="is archived"):
        add(world, "b", "web")
    set_project_status(session, "web", ProjectStatus.ACTIVE)
    add(world, "b", "web")


def test_refused_changes(world: World) -> None:
    """A project exists once, an unknown one is not found, and a worker changes none."""
    session = world.session()
    add_project(session, "web", ProjectFields())
    with pytest.raises(Refused, match="exists already"):
        add_project(session, "web", ProjectFields())
    with pytest.raises(NotFound):
        edit_project(session, "lost", ProjectFields(weight=2.0))
    with pytest.raises(NotFound):
        read_tasks(session, project="lost")
    with pytest.raises(Refused, match="worker auth cannot change projects"):
        edit_project(session._replace(actor="auth"), "web", ProjectFields(budget=0))


def test_the_repository_of_a_project(world: World) -> None:
    """The repository is linked, or cloned if it has a remote; its password is not shown."""
    session = world.session()
    shown = read_project(session, "default")
    assert shown.repo is not None
    assert (shown.repo.source_type, shown.repo.source_path) == (
        RepoSourceType.LINK, str(world.root)
    )  # fmt: skip
    world.git("remote", "add", "origin", "https://me:s3cret@host/x.git")
    session = world.session()
    add_project(session, "web", ProjectFields("Web"))
    shown = read_project(session, "web")
    assert shown.repo is not None
    assert shown.repo.source_type is RepoSourceType.CLONE
    assert "s3cret" not in shown.repo.url
    assert shown.repo.default_branch == "main"
    edit_project(session, "web", ProjectFields(), source=RepoSourceType.INIT)
    assert json_project(read_project(session, "web"))["repo"]["source"] == "INIT"


def test_the_views(world: World) -> None:
    """The list has a row for each project, and one project shows its limits and its tasks."""
    session = world.session()
    add_project(session, "web", ProjectFields("Web shop", 3.0, 4, 2_000_000, "json://localhost"))
    add(world, "a", "web")
    table = render_projects(read_projects(session), width=100, color=False).splitlines()
    assert table[0].split() == [
        "PROJECT", "STATUS", "WEIGHT", "AGENTS", "OPEN", "TOKENS", "BUDGET", "NAME"
    ]  # fmt: skip
    assert table[2].split() == ["web", "active", "3", "0/4", "1", "0", "2000000", "Web", "shop"]
    bare = render_projects(read_projects(session), width=None, color=False)
    assert bare.splitlines()[0] == "default\tACTIVE\t1\t0/2\t0\t0\t-\t-"
    text = render_project(read_project(session, "web"), width=None, color=False)
    assert "tokens     0 of 2,000,000" in text
    assert "tasks      1 ready to start" in text
