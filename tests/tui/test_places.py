"""The screens of tasks, agents and settings."""

import os

from gitworker.service import open_repository
from gitworker.tasks.queue.rules_fields import TaskFields
from gitworker.tui.screens.tasks import TASKS_SHOWN
from tests.tui.kit import Room, play
from tests.workers.world import World

WIDE = (120, 50)


def with_tasks(world: World) -> None:
    """Add three tasks: one to start, one that needs it, and one that is held."""
    service = open_repository(str(world.root))
    service.add_task("form", TaskFields(title="Build the form", text="A form.\nWith fields.\n"))
    service.add_task("menu", TaskFields(title="Add it to the menu"), needs=["form"])
    service.add_task("later", TaskFields(title="Something else"), held=True)


def test_the_list_of_tasks(world: World) -> None:
    """T lists the open tasks with states and needs; `/` filters them, z adds those that ended."""
    with_tasks(world)
    open_repository(str(world.root)).cancel_task("later")

    async def story(room: Room) -> None:
        await room.press("T", sees="form")
        await room.see("Build the form", "ready to start", "needs form", "waits for other tasks")
        assert "later" not in room.text()
        await room.press("z", sees="later")
        await room.press("z")
        await room.miss("later")
        await room.press("slash", sees="Show only the tasks")
        await room.press(*"MENU", "enter", sees="Tasks, only MENU")
        await room.miss("Build the form")
        await room.press("slash", sees="Show only the tasks")
        await room.press(*"xyz", "enter", sees="No task matches")
        await room.press("escape", sees="Build the form")
        await room.press("escape", sees="needs you 0")

    play(world, story, size=WIDE)


def test_a_filter_finds_every_task(world: World) -> None:
    """A filter also finds a task beyond those that the list shows."""
    plan = world.root.with_name("plan.md")
    lines = [f"- [ ] task-{number}: Build\n" for number in range(TASKS_SHOWN)]
    plan.write_text("".join(["- [ ] zebra: Stripes\n  priority: 1\n", *lines]))
    open_repository(str(world.root)).import_plan(str(plan))

    async def story(room: Room) -> None:
        await room.press("T", sees="task-1")
        await room.press("slash", sees="Show only the tasks")
        await room.press(*"zebra", "enter", sees="Stripes")

    play(world, story, size=WIDE)


def test_one_task(world: World) -> None:
    """Enter shows the reason why a task does not run, its text, and the tasks around it."""
    with_tasks(world)

    async def story(room: Room) -> None:
        await room.press("T", sees="Build the form")
        await room.choose_item("menu")
        await room.press("enter", sees="Task menu")
        await room.see("needs", "why", "Around it")
        await room.choose("form  ready to start")
        await room.press("enter", sees="Task form")
        await room.see("With fields.")
        await room.run("Keep form from being started")
        await room.see("form is held")
        await room.run("Let form be started again")
        await room.see("form is released")
        await room.run("Withdraw form")
        await room.see("form was cancelled")
        await room.run("Put form back into the queue")
        await room.see("form is ready to start")
        await room.run("Record form as completed without its work")
        await room.until(lambda: room.app.outcome and room.app.outcome.is_refused)

    play(world, story, size=WIDE)


def test_the_task_of_a_worker(world: World) -> None:
    """Enter on a task that a worker has shows the worker's review."""
    world.in_review("auth", "login", {"a": "1\n"})

    async def story(room: Room) -> None:
        await room.press("T", sees="login")
        await room.press("enter", sees="Task login")
        await room.see("worker")
        await room.press("enter", sees="auth: login")

    play(world, story, size=WIDE)


def test_the_graph(world: World) -> None:
    """G shows the tree of the dependencies, from which Enter opens a task, and the list again."""
    with_tasks(world)

    async def story(room: Room) -> None:
        await room.press("T", sees="needs form")
        await room.press("G", sees="Graph of tasks")
        await room.see("  menu  waits for other tasks  Add it to the menu")
        await room.choose_item("menu")
        await room.press("enter", sees="Task menu")
        await room.press("escape", sees="Graph of tasks")
        await room.press("G", sees="needs form")

    play(world, story, size=WIDE)


def test_no_task(world: World) -> None:
    """Without tasks the list and the graph say so."""

    async def story(room: Room) -> None:
        await room.press("T", sees="No task is open")
        await room.press("enter", "G", sees="Graph of tasks")
        await room.see("No task is open")

    play(world, story)


def test_agents(world: World) -> None:
    """A shows the agents that run; p pauses one and lets it continue, X stops it, o is its log."""
    world.spawn("docs", "manual")
    gate = world.path("docs") / "go"
    os.mkfifo(gate)
    words = "echo at work; read line < go"
    open_repository(str(world.root)).detach("docs", ["sh", "-c", words])

    async def story(room: Room) -> None:
        await room.press("A", sees="git worker attach manual")
        await room.see("docs ok", "No agent is registered")
        await room.choose_item("docs")
        await room.press("o", sees="at work")
        await room.press("escape", sees="Registered")
        await room.press("p", sees="docs was sent the order pause")
        await room.see("paused")
        await room.press("p", sees="docs was sent the order resume")
        await room.press("X", sees="docs was sent the order stop")
        await room.until(lambda: not room.service.agents().agents or not _has_run(room))
        await room.press("escape", "enter")

    play(world, story, size=WIDE)


def _has_run(room: Room) -> bool:
    """Return whether an agent runs under supervision."""
    return any(one.run is not None for one in room.service.agents().agents)


def test_registered_agents(world: World) -> None:
    """p gives a registered agent no more tasks, and lets it take tasks again."""
    service = open_repository(str(world.root))
    service.register_agent("quick", "command", command=["true"], capabilities=["gpu"])

    async def story(room: Room) -> None:
        await room.press("A", sees="quick")
        await room.see("No agent is alive.", "0 of 1 at work, with gpu")
        await room.choose_item("quick")
        await room.press("enter", "o", "X", sees="no agent that runs under supervision")
        await room.press("p", sees="quick is paused")
        await room.until(lambda: room.body.key and room.body.key.is_paused)
        await room.press("p")
        await room.until(lambda: not room.service.list_registered()[0].agent.is_paused)

    play(world, story, size=WIDE)


def test_no_agent(world: World) -> None:
    """Without agents the keys are refused with the reason."""

    async def story(room: Room) -> None:
        await room.press("A", sees="No agent is alive.")
        await room.press("p", sees="no agent that runs under supervision")
        names = [name for name, _, _ in room.app.commands(room.app.screen)]
        assert "Stop the agent; its work stays" in names

    play(world, story)


def test_settings(world: World) -> None:
    """S shows the findings of doctor with their commands, and each setting with its origin."""
    world.git("config", "worker.worktree.pool", "2")

    async def story(room: Room) -> None:
        await room.press("S", sees="Doctor")
        await room.see("ok", "Settings", "review.self")
        await room.choose("worktree.pool")
        assert "2" in room.line()
        assert "git config" in room.line()
        await room.press("ctrl+r")
        await room.until(lambda: not room.view.is_reading)

    play(world, story, size=WIDE)


def test_messages(world: World) -> None:
    """M shows the newest messages; `/` searches them, and Enter shows the conversation."""
    world.working("docs", "manual", {"c": "1\n"})
    service = open_repository(str(world.root))
    service.send_note("docs", "Use the blue colour.")
    service.send_note("docs", "Write about apples.")

    async def story(room: Room) -> None:
        await room.press("M", sees="Write about apples.")
        await room.see("Use the blue colour.", "hq → docs", "commit")
        await room.press("slash", sees="Search the messages")
        await room.press(*"BLUE", "enter", sees="Messages with BLUE")
        await room.miss("apples")
        await room.see("colour")
        await room.press("enter", sees="Conversation with docs")
        await room.press("escape", sees="Messages with BLUE")
        await room.run("Search the messages")
        await room.press(*"zebra", "enter", sees="No message has all of these words.")
        await room.press("escape", sees="apples")

    play(world, story, size=WIDE)


def test_no_message(world: World) -> None:
    """Without messages the screen says so."""

    async def story(room: Room) -> None:
        await room.press("M", sees="No message yet.")
        await room.press("enter", "escape", sees="needs you 0")

    play(world, story)
