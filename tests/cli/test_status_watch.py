"""`status --watch`: on a terminal one screen that lives, elsewhere a snapshot for every change."""

import json
import os
import signal
import termios
from pathlib import Path

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import DEADLINE_S, Answer, has_line, ok, read_lines, running, unmeasured
from tests.cli.terminal import Terminal, on_terminal

ENTERED = "\x1b[?1049h"
LEFT = "\x1b[?1049l"
XTERM = {"TERM": "xterm-256color"}
UNMEASURED = {"COVERAGE_PROCESS_CONFIG": "", "COVERAGE_PROCESS_START": ""}  # see kit.unmeasured


def test_json_lines(scene: Scene) -> None:
    """With --json each change is one line, and a change of age alone is not a change."""
    scene.spawn("auth", "t1")
    words = ("status", "--watch", "--json", "--every", "0.2")
    with running(scene.root, *words, env=unmeasured()) as process:
        (first,) = read_lines(process, 1)
        assert [one["worker"] for one in first["workers"]] == ["auth"]
        assert not has_line(process, 1.0)
        scene.spawn("docs", "t2")
        (second,) = read_lines(process, 1)
        while len(second["workers"]) < 2:
            (second,) = read_lines(process, 1)
        assert (first["schema"], second["schema"]) == (1, 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 130


def test_texts(scene: Scene) -> None:
    """On a pipe each change is a text of its own, with an empty line before it."""
    scene.spawn("auth", "t1")
    with running(scene.root, "status", "--watch", "--every", "0.5") as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        ok(scene.root, "start", "auth", "--pid", str(scene.agent_pid))
        while not lines[-1].startswith(b"auth    t1    at work"):
            lines.append(process.stdout.readline())
        assert lines.count(lines[0]) >= 2
        assert lines[lines.index(lines[0], 1) - 1] == b"\n"
        scene.state.rename(scene.root / "away")
        _, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, err) == (0, b"the state directory was deleted\n")


def test_every_is_for_watch(scene: Scene) -> None:
    """An interval without --watch is a misuse."""
    answer = scene.run("status", "--every", "5")
    hint = "error: --every requires --watch\nhint: git worker status --watch --every 5\n"
    assert answer == Answer(2, "", hint)


@pytest.mark.parametrize("kind", ["dumb", None])
def test_a_dumb_terminal(scene: Scene, kind: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that cannot move its cursor, or does not say so, gets texts without colours."""
    ok(scene.root, "init")
    monkeypatch.delenv("TERM", raising=False)
    env = {"NO_COLOR": ""} if kind is None else {"NO_COLOR": "", "TERM": kind}
    with on_terminal(scene.root, "status", "-w", env=env) as terminal:
        assert "\x1b" not in terminal.read_until("no workers yet")
    with on_terminal(scene.root, "show", "nope", env=env) as terminal:
        assert terminal.rest().startswith("error: no worker, task or branch is called 'nope'")


@pytest.mark.parametrize("columns", ["²", "9" * 5000])
def test_odd_columns(scene: Scene, columns: str) -> None:
    """A width in COLUMNS that is no number of columns is ignored."""
    ok(scene.root, "init")
    with on_terminal(scene.root, "status", env={"COLUMNS": columns}) as terminal:
        assert "no workers yet" in terminal.rest()


def test_idle_is_idle(scene: Scene, tmp_path: Path) -> None:
    """Without events no process is started and nothing is written, even with many heartbeats."""
    scene.spawn("auth", "t1")
    ok(scene.root, "start", "auth", "--pid", str(scene.agent_pid))
    trace = tmp_path / "trace"
    env = {**os.environ, "GITWORKER_TRACE": str(trace)}
    with running(scene.root, "status", "--watch", "--json", env=env) as process:
        read_lines(process, 1)
        while has_line(process, 1.0):  # the background jobs of the start
            read_lines(process, 1)
        before = trace.read_text()
        for _ in range(4):
            ok(scene.root, "heartbeat", "auth")
        assert not has_line(process, 0.5)
        assert trace.read_text() == before


def modes(terminal: Terminal) -> int:
    """Return the terminal's local modes: echo, and lines as a whole, among them."""
    return int(termios.tcgetattr(terminal.fd)[3])


def test_the_screen(scene: Scene) -> None:
    """The screen is redrawn on a change, line by line and never cleared, until q is typed."""
    scene.spawn("auth", "t1")
    with on_terminal(scene.root, "status", "--watch", env=XTERM) as terminal:
        before = terminal.read_until(ENTERED)
        assert before == ENTERED
        terminal.read_until("not started yet")
        terminal.read_until("\x1b[J")
        assert not modes(terminal) & (termios.ECHO | termios.ICANON)
        ok(scene.root, "start", "auth", "--pid", str(scene.agent_pid))
        redrawn = terminal.read_until("at work")
        assert "\x1b[2J" not in redrawn
        assert "\x1b[H" in redrawn
        terminal.type("q")
        rest = terminal.rest()
        assert rest.endswith("\x1b[?7h\x1b[?25h" + LEFT)
        assert terminal.process.wait(DEADLINE_S) == 0
        assert modes(terminal) & (termios.ECHO | termios.ICANON) == termios.ECHO | termios.ICANON


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
)
def test_signals_leave_the_terminal_as_it_was(scene: Scene, number: int, status: int) -> None:
    """However it is ended, the terminal is given back."""
    ok(scene.root, "init")
    with on_terminal(scene.root, "status", "--watch", env={**XTERM, **UNMEASURED}) as terminal:
        terminal.read_until("no workers yet")
        if number == signal.SIGINT:
            terminal.type("\x03")
        else:
            terminal.process.send_signal(number)
        assert terminal.rest().endswith(LEFT)
        assert terminal.process.wait(DEADLINE_S) == status


def test_another_size(scene: Scene) -> None:
    """Another size is taken up at once: columns are cut, and hidden rows are counted."""
    for number in range(2):
        scene.spawn(f"worker-{number}", f"a-rather-long-task-{number}")
    with on_terminal(scene.root, "status", "--watch", env=XTERM, size=(100, 40)) as terminal:
        terminal.read_until("waits for its agent to start")
        terminal.read_until("\x1b[J")
        terminal.resize(44, 4)
        frame = terminal.read_until("more lines")
        lines = frame[frame.rindex("\x1b[H") + 3 :].split("\r\n")
        assert len(lines) == 4
        assert "waits for its agent to start" not in frame[frame.rindex("\x1b[H") :]


def test_terminals_are_safe(scene: Scene) -> None:
    """No escape of a message's own reaches the terminal."""
    evil = json.dumps({"note": "\x1b]0;evil\x07\x9b31m"}, ensure_ascii=False)
    ok(scene.root, "init")
    ok(scene.root, "msg", "send", "status", evil)
    with on_terminal(scene.root, "status", "--watch", env=XTERM) as terminal:
        terminal.read_until(ENTERED)
        shown = terminal.read_until("evil")
        assert "\x1b]" not in shown
        assert "\\x1b]0;evil" in shown
