"""Tasks in the queue: added, dependent on each other, promoted, held, started."""

import pytest

from gitworker.errors import GitWorkerError, Invalid, NotFound, Refused
from gitworker.journal.settle import settle
from gitworker.model.ids import TaskId
from gitworker.store.records.task_needs import stacked_needs_of
from gitworker.tasks.queue.add_task import NewTask, TaskInQueue, add_task, depend
from gitworker.tasks.queue.hold import hold
from gitworker.tasks.queue.promote import promote_ready
from gitworker.tasks.queue.ready import json_ready, read_ready, render_ready
from gitworker.tasks.queue.rules_fields import TaskFields
from gitworker.tasks.queue.rules_needs import parse_needs
from gitworker.workers.cancel import cancel
from tests.workers.world import World, unchanged


def add(
    world: World, task: str | None, *needs: str, held: bool = False, **fields: object
) -> TaskInQueue:
    """Add a task."""
    given = TaskFields(**fields)  # type: ignore[arg-type]
    wanted = NewTask(task and TaskId(task), given, parse_needs(needs), held)
    return add_task(world.session(), wanted)


def waits_for(task: TaskInQueue) -> list[str]:
    """Return the tasks that a task waits for."""
    return [need.task for need in task.waits_for]


def ready(world: World) -> list[str]:
    """Return the tasks that may start."""
    return [one.id for one in read_ready(world.session(), 9).tasks]


def test_dependents_wait_for_the_landing(world: World) -> None:
    """A task is READY once the tasks that it needs have landed, at the next command."""
    assert add(world, "form").status == "READY"
    added = add(world, "styles", "form")
    assert (added.status, waits_for(added)) == ("DEFINED", ["form"])
    assert ready(world) == ["form"]
    with unchanged(world):
        world.spawn("ui", "styles")
    world.approved("auth", "form", {"form.py": "1\n"})
    settle(world.session())
    assert ready(world) == []
    world.land("auth")
    settle(world.session())
    assert ready(world) == ["styles"]
    assert promote_ready(world.session()) == []
    world.spawn("ui", "styles")
    assert ready(world) == []


def test_dependents_on_handed_in_work(world: World) -> None:
    """With :done a task is READY at the hand-in, and names the task to stack it on."""
    add(world, "form")
    add(world, "styles", "form:done")
    world.in_review("auth", "form", {"form.py": "1\n"})
    assert promote_ready(world.session()) == ["styles"]
    with world.session().store.read() as reader:
        assert list(stacked_needs_of(reader, "styles")) == ["form"]
        assert list(stacked_needs_of(reader, "form")) == []
    assert ready(world) == ["styles"]
    spawned = world.spawn("ui", "styles")
    assert spawned.base == world.tip("auth/form"), "it is stacked on the work that it needs"


def test_a_second_task_to_stack_on(world: World) -> None:
    """A task that is stacked on one other gets no second one by another call."""
    add(world, "form")
    add(world, "colours")
    add(world, "styles", "form:done")
    with unchanged(world, kind=Invalid) as caught:
        depend(world.session(), "styles", parse_needs(["colours:done"]))
    assert "stacked on one other task at most, here on form and colours" in caught.value.message
    depend(world.session(), "styles", parse_needs(["form"]))
    changed = depend(world.session(), "styles", parse_needs(["colours:done"]))
    assert sorted(waits_for(changed)) == ["colours", "form"]


def test_ids_are_made_of_the_words(world: World) -> None:
    """A task without an id gets one of its title or text; without both it is refused."""
    assert add(world, None, text="Build the login form").task == "build-the-login-form"
    assert add(world, None, title="Build the login form").task == "build-the-login-form-2"
    assert add(world, None, text="日本語").task.count("-") == 1
    with pytest.raises(Invalid, match="a task needs an id, a title or a text"):
        add(world, None)


@pytest.mark.parametrize(
    ("task", "needs", "kind", "code"),
    [
        ("form", [], Refused, "task_exists"),
        ("new", ["lost"], NotFound, "unknown_dependency"),
        ("new", ["new"], Refused, "cyclic_dependency"),
        ("new", ["dead"], Refused, "dead_dependency"),
    ],
)
def test_tasks_that_are_refused(
    world: World, task: str, needs: list[str], kind: type[GitWorkerError], code: str
) -> None:
    """A known id, an unknown dependency and a cancelled one are refused without any change."""
    add(world, "form")
    world.spawn("w", "dead")
    cancel(world.session(), "w")
    with unchanged(world, code, kind):
        add(world, task, *needs)


def test_cycles_are_refused(world: World) -> None:
    """A dependency that closes a cycle is refused, and the cycle is named."""
    add(world, "a")
    add(world, "b", "a")
    add(world, "c", "b")
    with unchanged(world, "cyclic_dependency") as caught:
        depend(world.session(), "a", parse_needs(["c"]))
    assert caught.value.message == "tasks would wait for each other: a needs c needs b needs a"


def test_needs_change_before_the_start(world: World) -> None:
    """A READY task with a new need is not started; without it, it may start again."""
    add(world, "a")
    add(world, "b")
    changed = depend(world.session(), "b", parse_needs(["a"]))
    assert (changed.status, waits_for(changed)) == ("READY", ["a"])
    assert ready(world) == ["a"]
    with unchanged(world):
        world.spawn("ui", "b")
    depend(world.session(), "b", parse_needs(["a:done"]))
    changed = depend(world.session(), "b", parse_needs(["a"]), drop=True)
    assert changed.needs == ()
    assert ready(world) == ["a", "b"]
    world.spawn("ui", "b")
    with unchanged(world, "moved_on"):
        depend(world.session(), "b", parse_needs(["a"]))
    with pytest.raises(NotFound):
        depend(world.session(), "lost", parse_needs(["a"]))


def test_held_tasks_are_not_started(world: World) -> None:
    """A held task is left out of the queue and refused to workers until it is released."""
    add(world, "a", held=True)
    assert ready(world) == []
    with unchanged(world) as caught:
        world.spawn("ui", "a")
    assert caught.value.hint == "git worker task release a"
    assert not hold(world.session(), "a", held=False).held
    assert ready(world) == ["a"]
    assert hold(world.session(), "a", held=True).held
    hold(world.session(), "a", held=False)
    world.approved("ui", "a", {"a.py": "1\n"})
    world.land("ui")
    with unchanged(world):
        hold(world.session(), "a", held=True)


def test_the_table_of_ready_tasks(world: World) -> None:
    """The table names further tasks; rows for scripts have only tabs."""
    empty = read_ready(world.session(), 9)
    assert render_ready(empty, width=80, color=False).startswith("no task may start now")
    assert render_ready(empty, width=None, color=False) == ""
    for name in "abc":
        add(world, name, title=f"Title {name}", priority=5)
    found = read_ready(world.session(), 2)
    table = render_ready(found, width=80, color=False).splitlines()
    assert table[0].split() == ["TASK", "PRIORITY", "AGE", "TITLE"]
    assert table[-1].startswith("there are more")
    assert len(table) == 4
    row = render_ready(found, width=None, color=False).splitlines()[0].split("\t")
    assert (row[0], row[1], row[3]) == ("a", "5", "Title a")
    assert json_ready(found)["more"]


def test_approval_is_asked_for(world: World) -> None:
    """A planned task needs no approval unless it asks for one, whatever the setting is."""
    add(world, "a")
    add(world, "b", requires_approval=True)
    assert (world.task("a").requires_approval, world.task("b").requires_approval) == (False, True)
