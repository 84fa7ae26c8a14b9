"""The board, the inbox and the frame of all screens."""

import pytest

from gitworker import clock
from gitworker.errors import Conflict
from gitworker.service import open_repository
from gitworker.tasks.projects.rules_project import ProjectFields
from gitworker.tasks.queue.rules_fields import TaskFields
from tests.tui.kit import Room, play
from tests.workers.world import World


def test_workers_by_need(world: World) -> None:
    """The board groups the workers by their need, and opens one."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.approved("css", "theme", {"b": "1\n"})
    world.working("docs", "manual", {"c": "1\n"})

    async def story(room: Room) -> None:
        await room.see("needs you 0", "working 1", "in review 1", "landing 1", "Ada Tester")
        await room.see("2 items in your inbox")
        assert room.line().split()[0] == "docs"
        await room.press("j", sees="auth")
        assert room.line().split()[0] == "auth"
        await room.press("enter", sees="auth: login")
        await room.press("escape", sees="needs you 0")

    play(world, story)


def test_a_change_of_another_process_appears(world: World) -> None:
    """A worker that is changed from the command line appears by itself."""
    world.working("docs", "manual", {"c": "1\n"})

    async def story(room: Room) -> None:
        await room.see("working 1")
        world.submit("docs")
        await room.see("in review 1", "1 item in your inbox")
        assert room.line().split()[0] == "docs"

    play(world, story)


def test_old_landings(world: World) -> None:
    """Landed work is on the board; z also shows or hides the old landings."""
    world.approved("css", "theme", {"b": "1\n"})
    world.land("css")

    async def story(room: Room) -> None:
        await room.see("done 1", "css")
        await room.press("z", sees="done 1")

    play(world, story)


def test_help_names_every_key(world: World) -> None:
    """The help shows every key that a screen has; a second `?` closes it."""
    from gitworker.tui.keys import TABLES

    async def story(room: Room) -> None:
        await room.press("question_mark", sees="Everywhere")
        await room.until(lambda: len(room.body.rows) > 20)
        shown = "\n".join("".join(part.text for part in one.parts) for one in room.body.rows)
        for _, keys in TABLES:
            assert [one.effect for one in keys if one.effect not in shown] == []
        await room.press("end", sees="leave; the text is kept until you quit")
        await room.press("question_mark", sees="needs you")

    play(world, story)


def test_the_palette(world: World) -> None:
    """The command palette finds the screens, the workers and the keys by their names."""
    world.in_review("auth", "login", {"a": "1\n"})

    async def story(room: Room) -> None:
        await room.see("in review 1")
        await room.press("ctrl+p", sees="Search for commands")
        await room.press(*"review auth", sees="in review")
        await room.press("enter", "enter", sees="auth: login")
        names = {name for name, _, _ in room.app.commands(room.app.screen)}
        assert {"Show the queue", "Quit", "Stop the agent of auth"} <= names
        await room.run("Show the inbox")
        await room.see("git worker approve auth")

    play(world, story)


def test_small_screen(world: World) -> None:
    """On 40 columns and 10 rows nothing fails, and the keys still work."""
    world.in_review("auth", "login", {"a": "1\n"})

    async def story(room: Room) -> None:
        await room.see("in review")
        await room.press("enter", sees="auth: login")
        for key in ("n", "j", "pagedown", "end", "right", "left", "home", "pageup"):
            await room.press(key)
        await room.pilot.resize_terminal(20, 5)
        await room.press("q")

    play(world, story, size=(40, 10))


def test_without_color(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR removes every colour, and stays in the environment for verify commands."""
    import os

    monkeypatch.setenv("NO_COLOR", "1")
    world.in_review("auth", "login", {"a": "1\n"})

    async def story(room: Room) -> None:
        await room.see("in review")
        assert room.app.no_color
        assert os.environ["NO_COLOR"] == "1"

    play(world, story)


def test_inbox(world: World) -> None:
    """The inbox lists the items with their commands; Enter opens a review and m lands."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.approved("css", "theme", {"b": "1\n"})

    async def story(room: Room) -> None:
        await room.press("i", sees="git worker approve auth")
        await room.see("git worker merge css")
        await room.press("x", sees="this item is a state")
        await room.press("j")
        assert "css" in room.line()
        await room.press("m", sees="css landed at")
        await room.miss("git worker merge css")
        await room.press("escape", "home", "enter", sees="auth: login")

    play(world, story)


def test_answers(world: World) -> None:
    """A question is answered in the inbox, and a message is answered and marked as read."""
    world.working("docs", "manual", {"c": "1\n"})
    worker = open_repository(str(world.path("docs")), identity="docs")
    with pytest.raises(Conflict):
        worker.ask("Which colour?", wait_s=0)

    async def story(room: Room) -> None:
        await room.press("i", sees="Which colour?")
        await room.press("enter", sees="Your answer to docs")
        await room.press("escape", sees="git worker reply")
        await room.press("e", sees="Your answer to docs")
        await room.write("")
        await room.see("the text is empty")
        await room.press("e", sees="Your answer to docs")
        await room.write("blue")
        await room.see("docs has your answer")
        await room.miss("Which colour?")

    play(world, story)


def test_an_empty_inbox(world: World) -> None:
    """Without items the inbox says so, and its keys do nothing that fails."""

    async def story(room: Room) -> None:
        await room.press("i", sees="Nothing needs you.")
        await room.press("enter", "e", "m", sees="not about a worker")
        await room.press("b", sees="not about a worker")
        await room.press("x", sees="this item is a state")
        await room.press("g", sees="needs you 0")

    play(world, story)


def test_a_message(world: World) -> None:
    """A message in the inbox is answered, and marked as read."""
    world.working("docs", "manual", {"c": "1\n"})
    worker = open_repository(str(world.path("docs")), identity="docs")
    worker.send_note("hq", "I need a hint.")

    async def story(room: Room) -> None:
        await room.press("i", sees="I need a hint.")
        await room.choose_item("docs")
        await room.press("m", sees="not about a worker")
        await room.press("e", sees="Your answer to docs")
        await room.write("Read the manual.")
        await room.see("sent to docs")
        await room.miss("I need a hint.")
        worker.send_note("hq", "Thank you.")
        await room.see("Thank you.")
        await room.choose_item("docs")
        await room.press("x", sees="are read")
        await room.miss("Thank you.")

    play(world, story, size=(100, 40))


def test_begin_again(world: World) -> None:
    """b starts the agent of a failed task again, and reports if its command is not known."""
    world.working("docs", "manual", {"c": "1\n"})
    open_repository(str(world.path("docs")), identity="docs").fail("docs", reason="no idea")

    async def story(room: Room) -> None:
        await room.press("i", sees="no idea")
        await room.press("b", sees="no command of an agent of docs is known")
        names = [name for name, _, _ in room.app.commands(room.app.screen)]
        await room.run(names[0])
        await room.press("escape", "g", sees="needs you 1")

    play(world, story, size=(100, 40))


def test_filters(world: World) -> None:
    """`/` shows only the workers that match words, a project or an agent; Esc shows all again."""
    service = open_repository(str(world.root))
    service.add_project("site", ProjectFields())
    service.add_task("theme", TaskFields(project_id="site"))
    world.working("auth", "login", {"a": "1\n"})
    world.working("css", "theme", {"b": "1\n"})

    async def story(room: Room) -> None:
        await room.see("working 2")
        await room.until(lambda: room.app.facts)
        await room.press("slash", sees="Show only the workers with these words")
        await room.see("project:site")
        await room.press(*"AUTH", "enter", sees="Board, only AUTH")
        await room.see("working 1", "auth")
        assert "css" not in room.text()
        await room.press("slash", sees="Show only the workers")
        await room.press("escape", sees="Board, only AUTH")
        await room.press("escape", sees="working 2")
        await room.run("Show only project:site")
        await room.see("Board, only project:site", "css")
        assert "auth" not in room.text()
        await room.run("Show all workers")
        await room.see("working 2")
        await room.run("Filter the board")
        await room.see("Show only the workers")
        await room.press(*"nothing", "enter", sees="No worker matches")

    play(world, story)


@pytest.mark.parametrize("key", ["g", "i"])
def test_ages_grow(world: World, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """The ages on the board and in the inbox grow while nothing else changes."""
    monkeypatch.setattr("gitworker.tui.app.AGES_GROW_S", 0.1)
    world.in_review("auth", "login", {"a": "1\n"})
    later_ms = clock.now_ms() + 3 * 3_600_000

    async def story(room: Room) -> None:
        await room.see("in review 1")
        await room.press(key, sees="auth")
        assert "3h" not in room.text()
        monkeypatch.setattr("gitworker.clock.now_ms", lambda: later_ms)
        await room.see("3h")

    play(world, story)
