"""`task list`: the order of the tasks, and a page of them."""

from contextlib import suppress

from gitworker.errors import Conflict
from gitworker.model.task import TaskStatus
from gitworker.review.comments.send import reject
from gitworker.service.service import open_repository
from gitworker.store.tasks import set_task_error
from gitworker.tasks.task_list import json_tasks, read_tasks, render_tasks
from gitworker.tasks.views.task_facts import read_why
from gitworker.workers.cancel import cancel
from tests.tasks.test_queue import add
from tests.workers.world import World


def test_a_landed_task_keeps_its_worker(world: World) -> None:
    """A landed task is listed with the worker that did it, also if that has another task by now."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    world.spawn("auth", "menu")
    for limit in (None, 9):
        found = read_tasks(world.session(), limit=limit).tasks
        assert {one.task: one.worker for one in found} == {"login": "auth", "menu": "auth"}
    cancel(world.session(), "auth")
    for limit in (None, 9):
        found = read_tasks(world.session(), limit=limit).tasks
        assert {one.task: one.worker for one in found}["login"] == "auth"


def test_the_order_and_a_page(world: World) -> None:
    """Tasks that wait for a person come first, then work, the queue, and the past; -n cuts it."""
    world.approved("old", "past", {"past.py": "1\n"})
    world.merge("old")
    add(world, "free")
    add(world, "later", "free")
    world.working("auth", "login", {"login.py": "1\n"})
    world.in_review("ui", "menu", {"menu.py": "1\n"})
    session = world.session()
    found = read_tasks(session)
    assert [one.task for one in found.tasks] == ["menu", "login", "free", "later", "past"]
    assert not found.has_more
    page = read_tasks(session, limit=4)
    assert page.tasks == found.tasks[:4]
    assert page.tasks[3].reason == "waits for free"
    assert json_tasks(page)["more"] is True
    assert render_tasks(page, width=80, color=False).endswith("4 of 5 tasks; --all lists all")
    assert "--all" not in render_tasks(found, width=80, color=False)
    chosen = read_tasks(session, (TaskStatus.READY, TaskStatus.COMPLETED), limit=1)
    assert ([one.task for one in chosen.tasks], chosen.total) == (["free"], 2)


def test_commands_are_never_cut(world: World) -> None:
    """A command that does not fit into its column is below its task."""
    add(world, "free")
    world.in_review("ui", "a-menu-with-a-rather-long-name", {"menu.py": "1\n"})
    found = read_tasks(world.session())
    wide = render_tasks(found, width=120, color=False).splitlines()
    assert wide[0].split() == ["TASK", "STATUS", "WORKER", "NEXT", "REASON"]
    lines = render_tasks(found, width=60, color=False).splitlines()
    assert lines[0].split() == ["TASK", "STATUS", "WORKER", "REASON"]
    commands = [line.strip() for line in lines[2::2]]
    assert commands == ["→ git worker approve ui", "→ git worker spawn '<worker>' free"]


def test_work_that_does_not_go_on_by_itself(world: World) -> None:
    """`task why` and the list name the reason for which nothing runs, and not an older error."""
    world.in_review("auth", "login", {"a": "1\n"})
    reject(world.session(), "auth", note="More")
    why = read_why(world.session(), "login")
    assert why.reason == "its work came back: changes requested: More (worker auth)"
    world.working("ui", "menu", {"b": "1\n"})
    with world.session().store.write() as writer:
        set_task_error(writer, "menu", "an older error")
    with suppress(Conflict):
        open_repository(str(world.root), identity="ui").ask("Which?", wait_s=0)
    found = {one.task: one.reason for one in read_tasks(world.session()).tasks}
    assert found == {"login": "changes requested: More", "menu": "asks: Which?"}
