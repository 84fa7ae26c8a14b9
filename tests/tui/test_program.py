"""`git worker ui`: its refusals, and a whole story on a terminal."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitworker.service import open_repository
from tests.cli.kit import run, wait_until
from tests.hints.following import note
from tests.tmux.conftest import Server
from tests.workers.world import World


def test_not_a_terminal(world: World) -> None:
    """Without a terminal the command is refused, and so it is with --json."""
    for words in (("ui",), ("--json", "ui")):
        done = run(world.root, *words)
        assert done.status == 1
        assert "the control room needs a terminal" in done.err + done.out
        assert "git worker status" in done.err + done.out


@pytest.fixture
def pane(world: World, server: Server) -> str:
    """A shell in the repository, on a terminal of 120 columns and 41 rows."""
    found = server.begin("work")
    server.tmux("send-keys", "-t", found, f"cd {world.root} && clear", "Enter")
    return found


def type_(server: Server, pane: str, *keys: str) -> None:
    """Press keys in a pane."""
    server.tmux("send-keys", "-t", pane, *keys)


def test_without_the_extra(world: World, server: Server, pane: str, tmp_path: Path) -> None:
    """Without the extra `ui` the command names the line that installs it."""
    (tmp_path / "block").mkdir()
    (tmp_path / "block" / "sitecustomize.py").write_text(
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'textual' else find(name, *rest)\n"
    )
    type_(server, pane, f"PYTHONPATH={tmp_path}/block git-worker ui; echo status $?", "Enter")
    server.wait_for(pane, "status 1")
    text = server.screen(pane)
    assert "the control room needs textual" in text
    assert "pip install 'gitworker[ui]'" in text


def test_a_worker_is_refused(world: World, server: Server, pane: str) -> None:
    """A worker cannot use it, and an unknown worker is not found."""
    world.spawn("auth", "login")
    type_(server, pane, "git-worker --as auth ui; echo status $?", "Enter")
    server.wait_for(pane, "status 1")
    assert "use --as hq" in server.screen(pane)
    type_(server, pane, "clear; git-worker ui nix; echo status $?", "Enter")
    server.wait_for(pane, "status 4")


def test_a_person_reviews(world: World, server: Server, pane: str) -> None:
    """A person comments on two lines, sends them, approves, lands, and takes the landing back."""
    text = "def login():\n    return True\n"
    world.in_review("auth", "login", {"src/login.py": text})
    before = world.tip()
    type_(server, pane, "git-worker ui; echo status $?", "Enter")
    server.wait_for(pane, "in review 1")
    type_(server, pane, "Enter")
    server.wait_for(pane, "return True")
    type_(server, pane, "n", "Down", "Down", "c")
    server.wait_for(pane, "Comment on src/login.py:1")
    type_(server, pane, "-l", "Rename it.")
    server.wait_for(pane, "Rename it.")
    type_(server, pane, "C-s")
    server.wait_for(pane, "#1 draft")
    type_(server, pane, "Down", "Down", "Down")
    type_(server, pane, "c")
    server.wait_for(pane, "Comment on src/login.py:2")
    type_(server, pane, "-l", "Really?")
    server.wait_for(pane, "Really?")
    type_(server, pane, "C-s")
    server.wait_for(pane, "#2 draft")
    type_(server, pane, "r")
    server.wait_for(pane, "It is sent with your drafts: 2.")
    type_(server, pane, "C-t")
    server.wait_for(pane, "auth has your review, with 2 comments")
    type_(server, pane, "a")
    server.wait_for(pane, "auth is approved")
    type_(server, pane, "m")
    server.wait_for(pane, "auth landed at")
    assert world.show("src/login.py") == text.strip()
    server.wait_for(pane, "u undoes merge")
    type_(server, pane, "u")
    wait_until(lambda: world.tip() == before)
    server.wait_for(pane, "main is back at")
    type_(server, pane, "q")
    server.wait_for(pane, "status 0")
    assert "src/login.py" not in server.screen(pane)  # the shell's screen is back


def test_the_command_that_attaches(world: World, server: Server, pane: str) -> None:
    """The command beside an agent opens the window that shows the agent's log."""
    world.spawn("docs", "manual")
    gate = world.path("docs") / "go"
    os.mkfifo(gate)
    service = open_repository(str(world.root))
    service.detach("docs", ["sh", "-c", "echo the agent speaks; read line < go"])
    type_(server, pane, "git-worker ui; echo status $?", "Enter")
    server.wait_for(pane, "working 1")
    type_(server, pane, "A")
    server.wait_for(pane, "git worker attach manual")
    shown = server.screen(pane)
    type_(server, pane, "q")
    server.wait_for(pane, "status 0")
    type_(server, pane, "git-worker attach manual", "Enter")
    wait_until(lambda: "work w:manual" in server.windows())
    server.wait_for(server.current("work"), "the agent speaks")
    note("git worker attach manual", shown)
    gate.write_text("go\n")


@pytest.mark.parametrize("command", ["git-worker ui", "git worker ui"])
def test_stopped(world: World, server: Server, pane: str, command: str) -> None:
    """Ctrl-Z gives the terminal back until fg, also if git has started the command."""
    world.in_review("auth", "login", {"a": "1\n"})
    type_(server, pane, f"echo be''fore; {command}", "Enter")
    server.wait_for(pane, "in review 1")
    type_(server, pane, "C-z")
    server.wait_for(pane, "before")
    type_(server, pane, "fg; echo sta''tus $?", "Enter")
    server.wait_for(pane, "in review 1")
    type_(server, pane, "q")
    server.wait_for(pane, "status 0")


def test_ended(world: World, server: Server, pane: str) -> None:
    """SIGTERM restores the terminal."""
    world.in_review("auth", "login", {"a": "1\n"})
    type_(server, pane, "echo be''fore; git-worker ui; echo sta''tus $?", "Enter")
    server.wait_for(pane, "in review 1")
    found = server.tmux("display-message", "-p", "-t", pane, "#{pane_pid}")
    children = subprocess.run(
        ["pgrep", "-P", found], capture_output=True, text=True, check=True
    ).stdout.split()
    os.kill(int(children[-1]), signal.SIGTERM)
    server.wait_for(pane, "status 143")
    server.wait_for(pane, "before")


@pytest.mark.parametrize("words", [("status",), ("--help",), ("ui", "--help")])
def test_other_commands_load_nothing_of_it(
    world: World, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No other command imports the room or its packages."""
    for name in ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
        monkeypatch.delenv(name, raising=False)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "gitworker", *words], cwd=world.root,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not {"textual", "rich", "gitworker.tui"} & loaded
