"""Commands of a person on a task: restart, stop, skip, cancel, edit, and the views of it."""

from pathlib import Path

import pytest

from gitworker.errors import NotFound, Refused
from gitworker.journal.settle import settle
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import fail
from gitworker.model.ids import TaskId
from gitworker.model.task import VerificationType
from gitworker.tasks.plan.import_plan import import_plan
from gitworker.tasks.plan.rules_import import Fate
from gitworker.tasks.projects.change_project import add_project
from gitworker.tasks.projects.rules_project import ProjectFields
from gitworker.tasks.queue.add_task import NewTask, add_task
from gitworker.tasks.queue.rules_fields import TaskFields
from gitworker.tasks.task_list import json_tasks, read_tasks
from gitworker.tasks.views.graph import json_graph, read_graph, render_graph, render_mermaid
from gitworker.tasks.views.show_task import json_task, read_task, render_task
from gitworker.tasks.views.task_facts import json_why, read_why, render_why
from gitworker.workers.task_verbs.change import (
    cancel_task,
    edit_task,
    json_changed_task,
    restart_task,
    skip_task,
    stop_task,
)
from gitworker.workstreams.change import NewWorkstream, create
from tests.tasks.test_queue import add, ready
from tests.workers.world import World, unchanged


def why(world: World, task: str) -> str:
    """Return why a task is not running, in one line."""
    return render_why(read_why(world.session(), task), width=None, color=False)


def test_a_restart_keeps_the_work(world: World) -> None:
    """A restart of work in review frees the worker, keeps the work, and gives all retries back."""
    add(world, "form")
    add(world, "styles", "form:done")
    place = world.in_review("auth", "form", {"form.py": "1\n"})
    tip = world.tip("auth/form")
    settle(world.session())
    assert ready(world) == ["styles"]
    done = restart_task(world.session(), "form")
    assert (done.status, done.worker) == ("READY", "auth")
    assert done.rescue is not None
    assert world.tip(done.rescue) == tip
    assert not place.exists()
    assert world.states("auth", "form") == ("IDLE", "READY")
    assert ready(world) == ["form"], "the dependency is open again"
    assert json_changed_task(restart_task(world.session(), "form"))["status"] == "READY"


def test_a_restart_waives_dependencies(world: World) -> None:
    """A restart of a task that waits lets it start; work in progress must be stopped first."""
    add(world, "form")
    add(world, "styles", "form")
    assert restart_task(world.session(), "styles").status == "READY"
    assert ready(world) == ["form", "styles"]
    world.working("ui", "styles", {"styles.css": "1\n"})
    with unchanged(world, "invalid_transition") as caught:
        restart_task(world.session(), "styles")
    assert caught.value.hint == "git worker task stop styles"


def test_a_stop_keeps_the_work(world: World) -> None:
    """A stop blocks the task and leaves worktree and branch; then it is skipped or restarted."""
    add(world, "form")
    add(world, "styles", "form")
    place = world.working("auth", "form", {"form.py": "1\n"})
    assert stop_task(world.session(), "form", reason="wrong way").status == "BLOCKED"
    assert world.states("auth", "form") == ("FAILED", "BLOCKED")
    assert place.exists()
    assert stop_task(world.session(), "form", reason="again").status == "BLOCKED"
    assert why(world, "styles") == (
        "styles: it waits for form to land, which is blocked: wrong way: git worker resume auth"
    )
    (row,) = [one for one in read_tasks(world.session()).tasks if one.task == "styles"]
    assert row.reason == "waits for form (BLOCKED)"
    assert skip_task(world.session(), "form").status == "COMPLETED"
    assert skip_task(world.session(), "form").status == "COMPLETED"
    assert why(world, "form") == "form: it was skipped: it is completed without its work"
    assert place.exists()
    assert ready(world) == ["styles"]
    assert restart_task(world.session(), "form").status == "READY"


@pytest.mark.parametrize("verb", [stop_task, skip_task])
def test_tasks_in_the_queue(world: World, verb: object) -> None:
    """A task that has not started is neither stopped nor skipped."""
    add(world, "form")
    with unchanged(world, "invalid_transition") as caught:
        if verb is stop_task:
            stop_task(world.session(), "form", reason="no")
        else:
            skip_task(world.session(), "form")
    better = "hold" if verb is stop_task else "cancel"
    assert caught.value.hint == f"git worker task {better} form"


def test_a_failed_task_is_restarted_with_all_retries(world: World) -> None:
    """A restart ends the back-off and counts retries from 0 again."""
    add(world, "form", max_retries=1)
    world.working("auth", "form", {"form.py": "1\n"})
    fail(world.session(), "auth", reason="no idea")
    assert "it has failed: no idea; it is ready again in" in why(world, "form")
    assert restart_task(world.session(), "form").status == "READY"
    task = world.task("form")
    assert (task.retry_count, task.resume_after_ms, task.last_error) == (0, None, "")


def test_cancels(world: World) -> None:
    """A cancel withdraws a queued task, and frees the worker of another; both can be restarted."""
    add(world, "form")
    add(world, "styles", "form")
    assert cancel_task(world.session(), "styles").status == "CANCELLED"
    assert cancel_task(world.session(), "styles").status == "CANCELLED"
    world.working("auth", "form", {"form.py": "1\n"})
    done = cancel_task(world.session(), "form")
    assert done.rescue is not None
    undo(world.session())
    assert world.states("auth", "form") == ("WORKING", "IN_PROGRESS")
    cancel_task(world.session(), "form")
    assert restart_task(world.session(), "styles").status == "READY"
    assert ready(world) == [], "its dependency was cancelled"
    assert "form to land, which was cancelled" in why(world, "styles")
    with pytest.raises(NotFound):
        cancel_task(world.session(), "lost")


def test_edits(world: World) -> None:
    """An edit changes the given fields until the task has ended."""
    add(world, "form", title="Form", priority=5)
    edit_task(world.session(), "form", TaskFields(text="Two fields", test_commands=("make",)))
    shown = json_task(read_task(world.session(), "form"))
    assert (shown["title"], shown["text"], shown["priority"]) == ("Form", "Two fields", 5)
    assert shown["test"] == ["make"]
    cancel_task(world.session(), "form")
    with unchanged(world, "moved_on"):
        edit_task(world.session(), "form", TaskFields(priority=1))


@pytest.mark.parametrize(
    "fields",
    [
        {"test_commands": ("true",)}, {"requires_approval": False}, {"text": "Less"},
        {"verification_type": VerificationType.AUTO_TEST}, {"budget_tokens": 0},
        {"acceptance_criteria": ()}, {"project_id": "web"}, {"timeout_s": 0},
    ],
    ids=lambda fields: next(iter(fields)),
)  # fmt: skip
def test_a_worker_keeps_its_order(world: World, fields: dict[str, object]) -> None:
    """A worker does not weaken the checks or limits of its own task; other fields are free."""
    strict = {
        "requires_approval": True, "verification_type": VerificationType.HUMAN, "timeout_s": 9,
        "acceptance_criteria": ("It works",), "budget_tokens": 500,
    }  # fmt: skip
    add(world, "form", title="Form", **strict)
    add_project(world.session(), "web", ProjectFields())
    world.working("dev", "form", {"a": "1\n"})
    own = world.session()._replace(actor="dev")
    with unchanged(world, "not_allowed"):
        edit_task(own, "form", TaskFields(**fields))  # type: ignore[arg-type]
    edit_task(own, "form", TaskFields(paths=("a",), priority=3))
    edit_task(world.session(), "form", TaskFields(**fields))  # type: ignore[arg-type]


def test_the_views(world: World) -> None:
    """show, why, list and graph name needs, dependents and the task that decides."""
    add(world, "form", title="The form", text="Two fields\n", requires_approval=True)
    add(world, "styles", "form:done", timeout_s=60, agent="claude", paths=("src/**",))
    add(world, "docs", "styles")
    shown = render_task(read_task(world.session(), "styles"), width=80, color=False)
    assert "needs      form:done\n" in shown
    assert "needed by  docs\n" in shown
    assert "timeout    60 s\n" in shown
    assert "\n\nTwo fields" in render_task(
        read_task(world.session(), "form"), width=80, color=False
    )
    found = json_why(read_why(world.session(), "docs"))
    assert found["chain"] == ["styles", "form"]
    assert found["next"] == "git worker spawn '<worker>' form"
    assert found["blocked_by"] == [{"task": "styles", "until": "landed", "status": "DEFINED"}]
    listed = {one["task"]: one for one in json_tasks(read_tasks(world.session()))["tasks"]}
    assert listed["docs"]["blocked_by"] == found["blocked_by"]
    graph = read_graph(world.session())
    assert render_graph(graph, width=None, color=False).splitlines() == [
        "form  ready to start  The form",
        "  styles  waits for other tasks",
        "    docs  waits for other tasks",
    ]
    assert "t1 -.-> t2" in render_mermaid(graph, width=None, color=False)
    assert len(json_graph(read_graph(world.session(), "styles"))["tasks"]) == 3
    with pytest.raises(NotFound):
        read_graph(world.session(), "lost")


def test_a_worker_gives_no_test_commands(world: World, tmp_path: Path) -> None:
    """Tests run outside an agent's sandbox, so a worker adds tasks and plans without any."""
    add(world, "form")
    worker = world.session(identity="auth")
    plan = tmp_path / "plan.md"
    plan.write_text("- [ ] menu: Build it\n  test: make\n")
    fields = TaskFields(title="T", test_commands=("make",))
    for give in (
        lambda: add_task(worker, NewTask(TaskId("list"), fields)),
        lambda: edit_task(worker, "form", fields),
        lambda: import_plan(worker, str(plan)),
        lambda: create(worker, NewWorkstream("site", validation=("make",))),
    ):
        with pytest.raises(Refused, match="worker auth cannot give test commands"):
            give()
    assert world.query("SELECT id FROM tasks") == [("form",)]
    assert world.query("SELECT id FROM workstreams") == []
    import_plan(world.session(), str(plan))
    assert import_plan(worker, str(plan)).with_fate(Fate.UNCHANGED) == ("menu",)
    plan.write_text("- [ ] menu: Build it\n- [ ] logo: Draw it\n")
    assert import_plan(worker, str(plan)).with_fate(Fate.ADDED) == ("logo",)
