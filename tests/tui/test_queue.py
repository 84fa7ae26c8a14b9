"""The queue and the log of an agent."""

import os
import threading

from gitworker.model.worker import WorkerState
from gitworker.service import open_repository, to_json
from gitworker.tui.rows.list_rows import text_rows
from tests.tui.kit import Room, play
from tests.workers.world import World


def test_the_order_lands_and_is_undone(world: World) -> None:
    """m lands all approved work or one worker; u undoes the newest operation or the chosen one."""
    world.approved("auth", "login", {"a": "1\n"})
    world.approved("css", "theme", {"b": "1\n"})
    before = world.tip()

    async def story(room: Room) -> None:
        await room.press("l", sees="no landing is running")
        await room.see("auth", "css", "priority 100", "No window yet.", "approve of css")
        await room.press("enter", sees="auth: login")
        await room.press("escape", sees="Windows")
        await room.press("m", sees="auth landed at")
        await room.see("merge of auth")
        await room.press("j", "m", sees="css landed at")
        await room.see("No approved work waits.", "merge of css")
        assert world.tip() != before
        await room.press("j", "u", sees="its landing was undone; it waits for you")
        await room.choose_item("merge of auth")
        await room.press("u", sees="main is back at")
        await room.until(lambda: world.tip() == before)

    play(world, story, size=(100, 50))


def test_a_key_is_for_the_row_that_was_chosen(world: World) -> None:
    """If the row of the cursor has vanished, the next key says so, and changes nothing."""
    for name in ("auth", "css", "docs"):
        world.approved(name, f"task-{name}", {name: "1\n"})

    async def story(room: Room) -> None:
        await room.press("l", sees="approve of docs")
        await room.choose_item("css")
        world.land("css")
        await room.see("merge of css")
        await room.press("m", sees="the item under the cursor is gone")
        assert "docs" in room.line()
        await room.press("escape", "m", sees="docs landed at")
        await room.see("merge of docs")
        await room.press("u", sees="the item under the cursor is gone")

    play(world, story, size=(100, 50))
    assert world.worker("auth").state is WorkerState.APPROVED
    assert world.worker("docs").state is WorkerState.COMPLETED


def test_nothing_to_undo(world: World) -> None:
    """Without operations u says so, and m lands nothing."""

    async def story(room: Room) -> None:
        await room.press("l", sees="Nothing can be undone.")
        await room.press("u", sees="nothing can be undone")
        await room.press("m", sees="no approved work waits to land")
        await room.run("Undo")
        await room.run("Land")

    play(world, story)


def test_a_failed_verification(world: World) -> None:
    """The refusal of a landing is shown, and the output of the verification is one key away."""
    world.git("config", "worker.verify.commands", "echo broken pipe dream; exit 1")
    world.approved("auth", "login", {"a": "1\n"})
    service = open_repository(str(world.root))
    service.trust(service.untrusted_commands())

    async def story(room: Room) -> None:
        await room.press("l", sees="priority 100")
        await room.press("m", sees="main itself does not pass")
        await room.see("failed")
        await room.choose_item("verify the first")
        await room.press("enter", sees="broken pipe dream")

    play(world, story, size=(100, 50))


def test_the_end_of_rows_that_come_at_once(world: World) -> None:
    """The last row is on the screen although there was no scrollbar before these rows."""

    async def story(room: Room) -> None:
        await room.see("needs you")
        room.body.show(text_rows(["first"]))
        room.body.show(text_rows([f"line {number}" for number in range(200)]))
        room.body.edge(1)
        assert room.body.scroll_offset.y == 200 - room.body.size.height

    play(world, story)


def test_the_log_follows(world: World) -> None:
    """o follows the log of a worker's agent; terminal codes in it are text or nothing."""
    world.spawn("docs", "manual")
    gate = world.path("docs") / "go"
    os.mkfifo(gate)
    evil = r"\033]0;evil\007\033[2Jsecond [red]line[/red]\n"
    words = f"echo first line; read line < go; printf '{evil}'; seq 1000 1040; echo the last"
    open_repository(str(world.root)).detach("docs", ["sh", "-c", words])

    async def story(room: Room) -> None:
        await room.see("docs")
        await room.press("enter", sees="docs: manual")
        await room.press("o", sees="Log of docs")
        await room.see("first line")
        gate.write_text("go\n")
        await room.see("the agent has ended")
        assert "1040" in room.text()
        assert "1000" not in room.text()
        await room.press("home", sees="second [red]line[/red]")
        assert "\x1b" not in room.text()
        await room.press("escape", sees="docs: manual")

    play(world, story)


def test_output_of_a_run(world: World) -> None:
    """The output of a verification appears while it runs, in the queue and on its own screen."""
    gates = [world.root / "one", world.root / "two"]  # a read never meets the writer of another
    for gate in gates:
        os.mkfifo(gate)
    steps = "echo first step; read line < {}; echo second step; read line < {}".format(*gates)
    world.git("config", "worker.verify.commands", steps)
    world.approved("auth", "login", {"a": "1\n"})
    service = open_repository(str(world.root))
    service.trust(service.untrusted_commands())

    async def story(room: Room) -> None:
        await room.press("l", sees="priority 100")
        assert room.service.running_verifications() == []
        await room.press("m", sees="Verified now")
        await room.see("first step")
        (run,) = room.service.running_verifications()
        assert to_json(run)["label"] == "auth"
        await room.choose_item("for ")
        await room.press("enter", sees="running")
        await room.see("first step")
        gates[0].write_text("go\n")
        await room.see("second step")
        await room.press("escape", "escape", sees="Verified now")
        await room.see("second step")
        gates[1].write_text("go\n")
        await room.see("auth landed at")
        await room.miss("Verified now")
        await room.choose_item("verify the first 1")
        await room.press("enter", sees="passed")

    play(world, story, size=(100, 50))


def test_a_run_that_ends_on_its_screen(world: World) -> None:
    """The screen of a run shows its verdict at its end."""
    gate = world.root / "gate"
    os.mkfifo(gate)
    world.git("config", "worker.verify.commands", f"echo wait; read line < {gate}; seq 1 90")
    world.approved("auth", "login", {"a": "1\n"})
    service = open_repository(str(world.root))
    service.trust(service.untrusted_commands())

    async def story(room: Room) -> None:
        await room.press("l", sees="priority 100")
        await room.press("m", sees="Verified now")
        await room.choose_item("for ")
        await room.press("enter", sees="running")
        gate.write_text("go\n")
        await room.see("passed after")
        await room.press("home", sees="passed")

    play(world, story, size=(100, 30))


def test_a_run_of_another_process(world: World) -> None:
    """A verification that began elsewhere appears without a key."""
    gate = world.root / "gate"
    os.mkfifo(gate)
    world.git("config", "worker.verify.commands", f"echo from elsewhere; read line < {gate}")
    world.approved("auth", "login", {"a": "1\n"})
    service = open_repository(str(world.root))
    service.trust(service.untrusted_commands())

    async def story(room: Room) -> None:
        await room.press("l", sees="priority 100")
        other = threading.Thread(target=service.verify, args=("auth",))
        other.start()
        await room.see("Verified now", "from elsewhere")
        await room.choose_item("for ")
        await room.press("enter", sees="running")
        room.view.failed()
        await room.press("escape", sees="Verified now")
        room.view.failed()
        gate.write_text("go\n")
        other.join()
        await room.miss("Verified now")

    play(world, story, size=(100, 50))
