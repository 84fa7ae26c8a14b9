"""The queue of a run: projects take turns, and tasks that change the same paths do not meet."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from gitworker import clock
from gitworker.model.task_spec import TaskSpec
from gitworker.orchestrator.turns.read_queue import READY_AT_ONCE, Queue, read_queue
from gitworker.store.records.task_needs import change_needs
from gitworker.store.records.task_specs import insert_task_spec
from gitworker.store.sqlite.database import Database
from gitworker.tasks.queue.add_task import promote_if_free
from gitworker.tasks.queue.rules_needs import parse_needs
from gitworker.tasks.views.task_facts import read_why
from tests.cli.kit import ok
from tests.hints.following import note
from tests.workers.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Give a repository with an open queue."""
    world = World.make(tmp_path / "r")
    world.session()
    return world


def add(world: World, task: str, *, needs: Iterable[str] = (), **fields: object) -> None:
    """Add a task to the queue."""
    with world.session().store.write() as writer:
        spec = TaskSpec(task, title=task)._replace(**fields)  # type: ignore[arg-type]
        insert_task_spec(writer, spec, clock.now_ms())
        change_needs(writer, task, parse_needs(needs))
        promote_if_free(writer, task, actor="hq")


def change(world: World, sql: str) -> None:
    """Change a row as a command for projects does."""
    store = world.session().store
    assert isinstance(store, Database)
    store.execute(sql)


def queue_of(world: World, agents: int | None = 4) -> Queue:
    """Return the queue of a run."""
    return read_queue(world.session(), "command", slots=(), skipped=(), agents=agents)


def test_projects_take_turns(world: World) -> None:
    """The starts of one tick follow the weights, and a paused project starts nothing."""
    change(world, "INSERT INTO projects (id, credit_weight) VALUES ('big', 3), ('shut', 9)")
    change(world, "UPDATE projects SET status = 'PAUSED' WHERE id = 'shut'")
    for number in range(4):
        add(world, f"small{number}")
        add(world, f"big{number}", project_id="big")
    add(world, "shut0", project_id="shut")
    found = queue_of(world)
    assert [task[:-1] for task in found.ready[:4]].count("big") == 3
    assert (len(found.ready), found.is_kept) == (8, True)
    assert read_why(world.session(), "shut0").reason == "its project shut is paused"


def test_the_agent_time_is_charged(world: World) -> None:
    """A project that has used more than its share comes last."""
    change(world, "INSERT INTO projects (id, credit_ms, accounted_at_ms) VALUES ('other', -1, 1)")
    change(world, "UPDATE projects SET credit_ms = -200000, accounted_at_ms = 9223372036854")
    change(world, "UPDATE projects SET credit_ms = 200000 WHERE id = 'other'")
    add(world, "mine")
    add(world, "theirs", project_id="other")
    assert queue_of(world).ready == ("theirs", "mine")


def test_tasks_that_meet_wait(world: World) -> None:
    """A task waits while one runs that declares, or has changed, the same paths."""
    add(world, "menu", paths=("src/**",))
    add(world, "form", paths=("src/form.py", "docs"))
    add(world, "free")
    assert queue_of(world).ready == ("menu", "free")
    world.spawn("ui", "menu")
    found = queue_of(world)
    assert (found.ready, found.waiting, found.is_kept) == (("free",), {"form": "menu"}, True)
    why = read_why(world.session(), "form")
    assert why.reason == "it waits for menu, which is running and may change the same paths"
    assert ok(world.root, "task", "why", "form").endswith(f": {why.next_command}")
    assert "src/**" in ok(world.root, "task", "show", "menu")
    note("git worker task show menu", why.reason)
    world.git("config", "worker.orchestrator.avoid-overlap", "no")
    assert set(queue_of(world).ready) == {"form", "free"}


def test_a_task_that_waits_for_a_path_takes_no_place(world: World) -> None:
    """A project with one place left starts the first task that does not wait for a running one."""
    change(world, "UPDATE projects SET max_concurrent_agents = 1, limits_agents = 1")
    add(world, "menu", paths=("src",))
    add(world, "form", paths=("src/form.py",))
    add(world, "guide", paths=("docs",))
    world.spawn("ui", "menu")
    found = queue_of(world, agents=None)
    assert (found.ready, found.waiting) == (("guide",), {"form": "menu"})


def test_tasks_that_wait_for_a_path_hide_none_behind_them(world: World) -> None:
    """If all tasks that a tick reads wait for running ones, those behind them are read."""
    add(world, "menu", paths=("src",))
    world.spawn("ui", "menu")
    with world.session().store.write() as writer:
        for number in range(READY_AT_ONCE + 3):
            paths = ("src/form.py",) if number % 2 else ("src/a", "docs")
            spec = TaskSpec(f"form{number}", title="Form")._replace(paths=paths)
            insert_task_spec(writer, spec, clock.now_ms())
            promote_if_free(writer, f"form{number}", actor="hq")
    add(world, "guide", paths=("docs",))
    add(world, "last")
    found = queue_of(world)
    assert found.ready == ("guide", "last")
    assert set(found.waiting.values()) == {"menu"}
    assert found.is_kept


def test_work_on_handed_in_work_waits_for_its_files(world: World) -> None:
    """A stacked task is expected to change the files of the work that it builds on."""
    world.working("auth", "base", {"src/a.py": "1\n"})
    world.working("ui", "menu", {"src/a.py": "2\n"})
    add(world, "next", needs=["base:done"])
    world.submit("auth")
    with world.session().store.write() as writer:
        promote_if_free(writer, "next", actor="hq")
    found = queue_of(world)
    assert (found.ready, found.waiting) == ((), {"next": "menu"})
