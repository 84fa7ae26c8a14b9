"""Text of agents, and a repository that disappears or is locked."""

import asyncio
import threading

import apsw
import pytest

from gitworker.errors import Refused
from gitworker.service import open_repository
from gitworker.service.outcome_words import Outcome
from gitworker.tasks.queue.rules_fields import TaskFields
from gitworker.tui.app import ControlRoom
from tests.tui.kit import Room, opened, play
from tests.workers.world import World

EVIL = "\x1b[2J\x1b]52;c;ZXZpbA==\x07[@click=app.exit]go[/] [/] [red\u202e\u200b\x9b31m"
LINE = f"{EVIL}\n"


def is_safe(text: str) -> bool:
    """Return whether no control character and no invisible one is in the text of a screen."""
    return all(char.isprintable() or char == "\n" for char in text)


def test_text_of_agents_is_text(world: World) -> None:
    """Commits, files, notes, names, comments and messages are neither commands nor markup."""
    world.working("auth", "login", {"src/[b]x\x1b[31m.py": LINE, "ok.py": LINE})
    world.commit("auth", {"ok.py": LINE * 2}, message=f"Subject {EVIL}")
    world.submit("auth", note=f"note {EVIL}")
    service = open_repository(str(world.root))
    worker = open_repository(str(world.path("auth")), identity="auth")
    worker.send_note("hq", f"message {EVIL}")
    service.comment("auth", "ok.py:1", text=f"comment {EVIL}")

    async def story(room: Room) -> None:
        await room.see("in review 1")
        screens = [room.text()]
        await room.press("enter", sees="auth: login")
        await room.see("[@click=app.exit]go[/] [/] [red", r"\x1b[2J", "comment", "Subject")
        screens.append(room.text())
        await room.press("t", sees="message")
        screens.append(room.text())
        await room.press("i", sees="message")
        screens.append(room.text())
        await room.press("l", sees="No window yet.")
        screens.append(room.text())
        assert [one for one in screens if not is_safe(one)] == []

    play(world, story, size=(160, 60))


def test_text_of_tasks_is_text(world: World) -> None:
    """Titles, texts and filters are neither commands nor markup on the other screens."""
    from textual.events import Paste

    from gitworker.tui.screens.ask import PlainInput

    service = open_repository(str(world.root))
    service.add_task("form", TaskFields(title=f"title {EVIL}", text=f"text {EVIL}\n"))
    world.working("auth", "login", {"ok.py": LINE})
    open_repository(str(world.path("auth")), identity="auth").send_note("hq", f"note {EVIL}")

    async def story(room: Room) -> None:
        screens = []
        for key, text in (("T", "title"), ("G", "title"), ("A", "At work"), ("M", "note")):
            await room.press(key, sees=text)
            screens.append(room.text())
        await room.press("T", sees="title")
        await room.choose_item("form")
        await room.press("enter", sees="text")
        screens.append(room.text())
        await room.press("g", "slash", sees="Show only the workers")
        await room.until(lambda: room.app.screen.query(PlainInput))
        room.app.screen.query_one(PlainInput).post_message(Paste("one\x1b[31m[b]\r\ntwo"))
        await room.see(r"one\x1b[31m[b]")
        screens.append(room.text())
        await room.press("enter", sees=r"Board, only one\x1b[31m[b]")
        screens.append(room.text())
        assert [one for one in screens if not is_safe(one)] == []

    play(world, story, size=(160, 60))


def test_a_paste_is_text(world: World) -> None:
    """A paste into the field for text has no control characters."""
    from textual.events import Paste

    from gitworker.tui.screens.write import PlainArea

    world.in_review("auth", "login", {"a": "1\n"})

    async def story(room: Room) -> None:
        await room.see("auth: login")
        await room.press("c", sees="Comment on")
        await room.until(lambda: room.app.screen.query(PlainArea))
        room.app.post_message(Paste("one\r\ntwo\x1b[31m"))
        await room.see("two")
        assert is_safe(room.text())
        assert room.text().count("two") == 1
        await room.press("ctrl+s", sees="#1 draft")

    play(world, story, worker="auth", size=(100, 40))


def test_a_paste_into_a_line(world: World) -> None:
    """A paste into the field for one line is inserted once, without control characters."""
    from textual.events import Paste

    from gitworker.tui.screens.ask import PlainInput

    async def story(room: Room) -> None:
        await room.press("T", sees="No task is open")
        await room.press("slash", sees="Show only the tasks")
        field = room.app.screen.query_one(PlainInput)
        room.app.post_message(Paste("me\x1bnu\nmore"))
        await room.until(lambda: field.value)
        assert field.value == "me\\x1bnu"

    play(world, story, size=(100, 40))


@pytest.mark.parametrize("key", ["ctrl+q", "l"])
def test_a_text_outlives_its_dialog(world: World, key: str) -> None:
    """Ctrl+Q leaves a dialog only, and another place chosen in the palette keeps its text."""
    world.in_review("auth", "login", {"a": "1\n"})

    async def story(room: Room) -> None:
        await room.see("auth: login")
        await room.press("c", sees="Comment on")
        await room.press(*"Why", sees="Why")
        if key == "l":
            room.app.show_place("board")
            await room.press("enter", sees="auth: login")
        else:
            await room.press(key, sees="auth: login")
        await room.press("c", sees="Why")

    play(world, story, worker="auth", size=(100, 40))


def test_a_repository_that_disappears(world: World) -> None:
    """A repository that is moved away is reported, and shown again when it is back."""
    world.in_review("auth", "login", {"a": "1\n"})
    gone = world.root.with_name("gone")

    async def story(room: Room) -> None:
        await room.see("in review 1")
        world.root.rename(gone)
        await room.press("i", sees="not")
        await room.until(lambda: room.app.feed.newest[1] is not None)
        await room.press("g", sees="in review 1")
        await room.press("enter")
        await room.until(lambda: room.body.rows)
        await room.press("a", "m", "u", "l")
        gone.rename(world.root)
        await room.until(lambda: room.app.feed.newest[1] is None)
        await room.press("g", sees="in review 1")

    play(world, story, size=(100, 30))


def test_a_locked_database(world: World) -> None:
    """A locked database is a refusal with its reason; the screens continue after it."""
    world.in_review("auth", "login", {"a": "1\n"})

    async def story(room: Room) -> None:
        await room.see("auth: login")
        connection = apsw.Connection(f"{world.state_dir}/bus.db")
        connection.execute("BEGIN EXCLUSIVE")
        await room.press("a")
        await room.until(lambda: room.app.outcome and room.app.outcome.is_refused)
        connection.execute("ROLLBACK")
        connection.close()
        await room.press("a", sees="auth is approved")

    play(world, story, worker="auth", size=(100, 40))


class Failing:
    """The service, but some methods have a bug."""

    def __init__(self, service: object, *names: str) -> None:
        self._service, self._names = service, names

    def __getattr__(self, name: str) -> object:
        """Return the service's method, or one that fails."""
        return self._fail if name in self._names else getattr(self._service, name)

    def _fail(self, *_: object, **__: object) -> None:
        raise RuntimeError("no such thing")


@pytest.mark.parametrize("name", ["inbox", "undo_records", "count_inbox"])
def test_a_bug_in_a_view(world: World, name: str) -> None:
    """A bug in one view is reported on the screen and ends nothing."""
    world.in_review("auth", "login", {"a": "1\n"})
    service = Failing(open_repository(str(world.root)), name)

    async def story(room: Room) -> None:
        await room.see("in review 1")
        await room.press("i")
        if name == "inbox":
            await room.see("a bug in gitworker", "no such thing")
        else:
            await room.see("git worker approve auth")
        await room.press("g", sees="in review 1")

    play(world, story, service=service, size=(100, 30))


def test_a_change_outlives_the_screens(world: World) -> None:
    """A change that has not ended at the end of the screens is finished, and its outcome kept."""
    world.in_review("auth", "login", {"a": "1\n"})
    never = threading.Event()

    async def story() -> ControlRoom:
        async with opened(world) as room:
            app = room.app

            def slow() -> Outcome:
                while app.is_running:
                    never.wait(0.01)
                raise Refused("too late", "git worker status")

            await room.see("in review 1")
            app.change("wait", slow)
            app.change("again", lambda: Outcome("done"))
            await room.see("done")
            assert app.close_threads() == 1
        return app

    app = asyncio.run(story())
    assert app.wait() == [Outcome("wait: too late", "git worker status", True)]
