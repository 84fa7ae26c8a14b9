"""Keys on a review decide about what the screen shows, and say why they do nothing."""

from gitworker.service import open_repository
from gitworker.service.outcome_words import Outcome
from tests.tui.kit import Room, play
from tests.workers.world import World


def test_land_is_for_the_round_on_the_screen(world: World) -> None:
    """Work that another person approved in a later round does not land from this screen."""
    world.in_review("auth", "login", {"a": "1\n"})

    async def story(room: Room) -> None:
        await room.see("auth: login")
        open_repository(str(world.root)).reject("auth", note="More")
        world.commit("auth", {"later.txt": "x\n"})
        world.submit("auth")
        world.approve("auth")
        await room.see("approved")
        await room.press("m", sees="round 2 of auth was handed in meanwhile")
        await room.press("escape", "ctrl+r", sees="later.txt")
        await room.press("m", sees="auth landed at")

    play(world, story, worker="auth", size=(100, 50))


def test_the_mark_of_a_file_without_lines(world: World) -> None:
    """A file without hunks is marked as viewed, and the mark is cleared."""
    path = world.working("auth", "login", {"a": "1\n"})
    (path / "b.bin").write_bytes(b"a\0b")
    world.git("add", ".", cwd=path)
    world.git("commit", "-qm", "Binary", cwd=path)
    world.submit("auth")

    async def story(room: Room) -> None:
        await room.see("0 of 2 parts viewed")
        await room.choose("b.bin")
        await room.press("v", sees="1 of 2 parts viewed")
        await room.press("v", sees="0 of 2 parts viewed")

    play(world, story, worker="auth", size=(100, 50))


def test_a_long_hint_is_shown_whole(world: World) -> None:
    """A hint that is longer than a row is wrapped; the text before it is cut with an ellipsis."""
    world.in_review("auth", "login", {"a": "1\n"})

    async def story(room: Room) -> None:
        await room.see("auth: login")
        hint = "less " + "/long" * 30 + "/end"
        room.app.report(Outcome("failed\n" * 20, hint, is_refused=True))
        await room.see("/end", "…")
        shown = "".join(line.strip() for line in room.text().split("\n"))
        assert hint.replace(" ", "") in shown.replace(" ", "")

    play(world, story, worker="auth", size=(80, 24))
