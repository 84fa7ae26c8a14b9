"""The review screen: comments, viewed marks, decisions, and the ways to the other screens."""

from pathlib import Path

import pytest

from gitworker.service import open_repository
from gitworker.workers.cancel import cancel
from tests.tui.kit import Room, play
from tests.workers.world import World

APP = "def login():\n    return True\n\n\ndef logout():\n    return False\n"


def in_review(world: World) -> Path:
    """Bring one worker into review, with two files."""
    return world.in_review("auth", "login", {"src/login.py": APP, "README": "one\n2\nthree\n"})


def test_comments_on_lines(world: World) -> None:
    """Lines, a hunk and the whole change get comments; a draft is changed and deleted."""
    in_review(world)

    async def story(room: Room) -> None:
        await room.see("0 of 2 parts viewed", "src/login.py")
        await room.choose("+def login():")
        await room.press("shift+down", "c", sees="Comment on src/login.py:1-2")
        await room.write("Why\nboth?")
        await room.see("┃ #1 draft you on src/login.py:1-2", "┃ both?", "1 to send")
        await room.choose("-1,3 +1,3")
        await room.press("c", sees="Comment on README:2 (before")
        await room.write("Keep it.")
        await room.see("#2 draft", "2 to send")
        await room.press("home", "c", sees="Comment on the change as a whole")
        await room.press("escape")
        await room.choose("#2 draft")
        await room.press("c", sees="Comment 2")
        await room.write(" Please.")
        await room.see("Keep it. Please.")
        await room.press("d", sees="comment 2 is deleted")
        await room.miss("#2 draft")
        await room.press("d", sees="not on a comment")
        await room.press("x", sees="not on a comment")
        await room.press("X", sees="not on a comment")

    play(world, story, worker="auth", size=(100, 50))


def test_a_text_that_is_left(world: World) -> None:
    """Esc keeps the text for its own lines; it is shown again until it is saved."""
    in_review(world)

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        await room.choose("+def login():")
        await room.press("c", sees="Comment on src/login.py:1")
        await room.write("half a sentence", save="escape")
        await room.press("down", "c", sees="Comment on src/login.py:2")
        await room.write("", save="escape")
        await room.press("up", "c", sees="half a sentence")
        await room.write(", and the rest")
        await room.see("#1 draft", "┃ half a sentence, and the rest")
        await room.choose("+def login():")
        await room.press("c", sees="Comment on src/login.py:1")
        assert "half" not in room.text()
        await room.press("escape")

    play(world, story, worker="auth", size=(100, 50))


def test_a_refused_text(world: World) -> None:
    """A text whose change is refused is shown again."""
    in_review(world)

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        await room.press("r", sees="Review of auth")
        world.approve("auth")
        world.merge("auth")
        await room.write("Too late")
        await room.until(lambda: room.app.outcome and room.app.outcome.is_refused)
        await room.press("r", sees="Too late")
        await room.press("escape")

    play(world, story, worker="auth", size=(100, 50))


def test_a_round_of_requests(world: World) -> None:
    """A request for changes reaches the author; handled comments are resolved and reopened."""
    in_review(world)
    author = open_repository(str(world.path("auth")), identity="auth")

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        await room.choose("+def logout():")
        await room.press("c", sees="Comment on src/login.py:5")
        await room.write("Rename it.")
        await room.see("#1 draft")
        await room.press("r", sees="It is sent with your drafts: 1.")
        await room.write("One thing.")
        await room.see("auth was sent back with your request, with 2 comments", "at work")
        world.commit("auth", {"src/login.py": APP.replace("logout", "leave")})
        author.handle_comment(1, answer="renamed")
        world.submit("auth")
        await room.see("other commits than below")
        assert "def logout" in room.text()
        await room.press("ctrl+r", sees="round 2")
        await room.see("author", "renamed")
        await room.press("s", sees="auth: changes 1..2")
        await room.see("leave")
        await room.press("escape", "escape")
        await room.see("auth: login")
        await room.choose("#1 handled")
        await room.press("x", sees="comment 1 is resolved")
        await room.choose("#1 resolved")
        await room.press("X", sees="Reopen comment 1")
        await room.write("Not yet.")
        await room.see("reopened: Not yet.")
        await room.press("r", sees="Review of auth")
        await room.write("", save="ctrl+t")
        await room.see("auth has your review, with 1 comment")

    play(world, story, worker="auth", size=(110, 60))


def test_viewed_marks(world: World) -> None:
    """v marks a hunk or a file and folds it, and clears the mark; Enter folds and unfolds."""
    in_review(world)

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        await room.press("v", sees="the cursor is on no file")
        await room.choose("+def login():")
        await room.press("v", sees="1 of 2 parts viewed")
        await room.miss("def login")
        assert "src/login.py" in room.line() or "@@" in room.line()
        await room.choose("src/login.py")
        await room.press("enter", sees="@@ -0,0 +1,6 @@  viewed")
        await room.press("v", sees="0 of 2 parts viewed")
        await room.see("+def login():")
        await room.choose("README")
        await room.press("v", sees="1 of 2 parts viewed")
        assert room.service.review("auth").viewed
        await room.press("v", sees="0 of 2 parts viewed")
        await room.until(lambda: not room.service.review("auth").viewed)
        await room.press("n", "p", "j", "k")

    play(world, story, worker="auth", size=(100, 40))


def test_approve_land_undo(world: World) -> None:
    """a approves the commit on the screen, m lands it, u takes the landing back."""
    in_review(world)
    before = world.tip()

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        await room.press("a", sees="auth is approved")
        await room.see("auth, approved", "u undoes approve")
        await room.press("m", sees="auth landed at")
        assert world.tip() != before
        await room.see("u undoes merge")
        await room.press("u", sees="main is back at")
        await room.until(lambda: world.tip() == before)
        await room.press("escape")
        await room.miss("main is back at")

    play(world, story, worker="auth", size=(120, 40))


def test_an_approval_that_rebases(world: World) -> None:
    """The approval's own rebase is not reported as a change of the work."""
    in_review(world)
    world.advance({"beside": "1\n"})

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        await room.press("a", sees="auth is approved")
        await room.see("auth, approved, u undoes approve")

    play(world, story, worker="auth", size=(120, 40))


def test_the_next_review(world: World) -> None:
    """N shows the next work that waits for a review, also after an approval; Esc leads back."""
    for name in ("auth", "docs", "menu"):
        world.in_review(name, f"task-{name}", {name: "1\n"})

    async def story(room: Room) -> None:
        await room.see("in review 3")
        await room.press("enter", sees="auth: task-auth")
        await room.press("N", sees="docs: task-docs")
        await room.see("+1 -0, new")
        await room.press("a", sees="docs is approved")
        await room.see("docs, approved")
        await room.press("N", sees="auth: task-auth")
        await room.press("N", sees="menu: task-menu")
        await room.press("N", sees="auth: task-auth")
        await room.press("escape", "escape")
        await room.see("in review 2")
        world.approve("auth")
        world.approve("menu")
        await room.see("landing 3")
        await room.choose("docs")
        await room.press("enter", sees="docs: task-docs")
        await room.press("N", sees="no other work waits for a review")

    play(world, story, size=(100, 40))


def test_land_approves_first(world: World) -> None:
    """m lands work in review after the approval of the commit on the screen."""
    in_review(world)

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        await room.press("m", sees="auth landed at")

    play(world, story, worker="auth")
    assert world.show("src/login.py") == APP.strip()


def test_an_approval_names_the_commit(world: World) -> None:
    """The approval of a commit that is no longer the newest is refused, with the hint."""
    in_review(world)

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        world.commit("auth", {"late": "1\n"})
        await room.press("a", sees="hint: git worker")
        assert room.app.outcome is not None
        assert room.app.outcome.is_refused

    play(world, story, worker="auth", size=(100, 40))
    assert world.worker("auth").state.value == "IN_REVIEW"


def test_a_round_that_comes_by_itself(world: World) -> None:
    """A round that is shown after a change of one's own is decided on after Ctrl+R only."""
    in_review(world)

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        world.commit("auth", {"src/login.py": "def login():\n    return None\n"})
        world.submit("auth")
        await room.press("r")
        await room.write("Well", save="ctrl+t")
        await room.see("return None")
        await room.press("a", sees="Ctrl+R accepts it")
        assert world.worker("auth").state.value == "IN_REVIEW"
        await room.press("ctrl+r")
        await room.press("a", sees="auth is approved")

    play(world, story, worker="auth", size=(100, 40))


def test_the_evidence(world: World) -> None:
    """The verdict of the verify commands is in the evidence, and Enter shows the output."""
    (world.root / "check").write_text("echo all is well\n")
    world.git("config", "worker.verify.commands", "echo all is well")
    in_review(world)
    service = open_repository(str(world.root))
    service.trust(service.untrusted_commands())
    service.verify("auth")

    async def story(room: Room) -> None:
        await room.see("verify command: echo all is well", "verify passed")
        await room.choose("verify passed")
        await room.press("enter", sees="Verification of")
        await room.see("all is well")

    play(world, story, worker="auth", size=(100, 40))


def test_the_conversation(world: World) -> None:
    """t shows the conversation, and e writes to the worker."""
    in_review(world)

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        await room.press("t", sees="Conversation with auth")
        await room.press("e", sees="Your message to auth")
        await room.write("")
        await room.see("the text is empty")
        await room.press("e")
        await room.write("Thanks for the fish.")
        await room.see("sent to auth", "Thanks for the fish.", "x-note")

    play(world, story, worker="auth", size=(100, 40))


def test_work_without_files(world: World) -> None:
    """A review of commits without changes says so."""
    world.spawn("auth", "login")
    world.git("commit", "-q", "--allow-empty", "-m", "Build again", cwd=world.path("auth"))
    world.submit("auth")

    async def story(room: Room) -> None:
        await room.see("the commits change no file")

    play(world, story, worker="auth")


def test_a_worker_without_work(world: World) -> None:
    """A worker without a task has no changes to review, and the keys say why."""
    world.working("css", "theme", {"b": "1\n"})
    cancel(world.session(), "css")

    async def story(room: Room) -> None:
        await room.see("hint:")
        for key in ("c", "v", "a", "m"):
            await room.press(key)
            await room.until(lambda: room.app.outcome)
            assert room.app.outcome is not None
            assert "css has no branch to review" in room.app.outcome.text
            await room.press("escape")
        await room.press("s", sees="css: changes since your last look")

    play(world, story, worker="css")


def test_orders_to_an_agent(world: World) -> None:
    """The palette sends orders, and shows the refusal if the agent has ended."""
    in_review(world)

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        await room.run("Pause the agent of auth")
        await room.see("pause")
        await room.run("Start the agent of auth again")
        await room.see("no command of an agent of auth is known")

    play(world, story, worker="auth", size=(100, 40))


def test_the_cursor_stays(world: World) -> None:
    """The cursor stays on its row while the rows are read again, also inside a comment."""
    in_review(world)
    open_repository(str(world.root)).comment("auth", "src/login.py:1", text="one\ntwo\nthree")

    async def story(room: Room) -> None:
        await room.see("three")
        await room.choose("two")
        await room.press("ctrl+r")
        await room.until(lambda: not room.view.is_reading)
        assert "two" in room.line()
        await room.press("home", "j", "k", "k", "up")
        await room.press("end", "down", "shift+down", "shift+up", "shift+up")
        assert len(room.body.keys) == 3
        await room.press("d", sees="not on a comment")

    play(world, story, worker="auth", size=(100, 40))


def test_arrows_in_a_long_review(world: World) -> None:
    """The arrows and the page keys move the cursor also if the rows do not fit on the screen."""
    world.in_review("auth", "login", {"long": "".join(f"line {n}\n" for n in range(100))})

    async def story(room: Room) -> None:
        await room.see("line 3")
        await room.press("home", "n", "down", "down", "down")
        assert room.line().endswith("+line 1")
        await room.press("shift+down", "c", sees="Comment on long:2-3")
        await room.press("escape")
        await room.press("up", "up")
        assert room.line().endswith("+line 0")
        before = room.body.cursor
        await room.press("pagedown")
        assert room.body.cursor == (before or 0) + room.body.size.height - 1
        await room.press("end")
        assert room.line().endswith("+line 99")

    play(world, story, worker="auth", size=(80, 24))


def test_the_mouse(world: World) -> None:
    """A click moves the cursor, with Shift it chooses a range; a double click opens the item."""
    in_review(world)

    async def story(room: Room) -> None:
        await room.see("in review 1")
        at = next(y for y, one in enumerate(room.text().split("\n")) if "auth  " in one)
        await room.pilot.click(offset=(5, at), times=2)
        await room.see("src/login.py")
        lines = room.text().split("\n")
        first = next(y for y, one in enumerate(lines) if "+def login" in one)
        await room.pilot.click(offset=(5, first))
        assert "def login" in room.line()
        await room.pilot.click(offset=(5, first + 1), shift=True)
        await room.press("c", sees="Comment on src/login.py:1-2")

    play(world, story, size=(100, 40))


def test_syntax_colours(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines on the screen get the colours of their language once the screen rests."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    world.in_review("auth", "login", {"login.py": "def login():\n    return 'yes'\n"})

    async def story(room: Room) -> None:
        await room.see("def login")

        def style_of(text: str) -> set[str]:
            strips = room.app.screen._compositor.render_strips()
            return {str(one.style) for strip in strips for one in strip if one.text == text}

        await room.until(lambda: any("yellow" in one for one in style_of("'yes'")))
        assert any("bold" in one and "green" in one for one in style_of("return"))
        await room.choose("login.py")
        await room.press("v", sees="1 of 1 part viewed")
        await room.press("v", sees="0 of 1 part viewed")
        await room.until(lambda: any("yellow" in one for one in style_of("'yes'")))

    play(world, story, worker="auth", size=(100, 40))


def test_any_two_rounds(world: World) -> None:
    """R compares any two rounds; a text that names none is refused."""
    in_review(world)

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        await room.press("R", sees="there is only one round")
        for name in ("leave", "depart"):
            room.service.reject("auth", note="another name")
            world.commit("auth", {"src/login.py": APP.replace("logout", name)})
            world.submit("auth")
        await room.press("ctrl+r", sees="round 3")
        await room.press("R", sees="between two of its rounds: 1..3")
        await room.press("enter", sees="auth: changes 2..3")
        await room.see("depart", "leave")
        await room.press("escape", "escape", "R", sees="between two of its rounds")
        await room.press(*["backspace"] * 4, *"1..2", "enter", sees="auth: changes 1..2")
        await room.see("leave")
        assert "depart" not in room.text()
        await room.press("escape", "R", sees="between two of its rounds")
        await room.press(*"x", "enter", sees="is not N..M")

    play(world, story, worker="auth", size=(110, 60))


def test_side_by_side(world: World) -> None:
    """w shows old and new lines in two columns, on which comments are written as before."""
    in_review(world)
    world.commit("auth", {"README": "one\n2 and more\nthree\n"})
    world.submit("auth")

    async def story(room: Room) -> None:
        await room.see("src/login.py")
        await room.choose("+def logout():")
        await room.press("w", sees="│   5 +def logout():")
        assert "│   5 +def logout():" in room.line()
        await room.press("c", sees="Comment on src/login.py:5")
        await room.write("Rename it.")
        await room.see("┃ #1 draft", "│   5 +def logout():")
        await room.pilot.resize_terminal(90, 50)
        await room.see("    5 +def logout():")
        await room.pilot.resize_terminal(120, 50)
        await room.see("│   5 +def logout():")
        await room.press("w", sees="      5 +def logout():")
        await room.pilot.resize_terminal(90, 50)
        await room.press("w", sees="two columns need a terminal of 100 columns; this one has 90")

    play(world, story, worker="auth", size=(120, 50))
