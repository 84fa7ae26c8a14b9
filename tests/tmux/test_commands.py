"""watch, attach and `spawn --tmux` as typed: on a terminal, in tmux, on a pipe, without tmux."""

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Scene, scene
from tests.cli.kit import DEADLINE_S, Answer, ok, read_line, running, wait_until
from tests.cli.terminal import on_terminal
from tests.hints.following import note
from tests.tmux.conftest import TASK, Server

__all__ = ["scene"]  # the fixture


@pytest.fixture
def without_tmux(tmp_path: Path) -> dict[str, str]:
    """An environment in which there is everything that we need but tmux."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("git", "git-worker", "sh"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    return {"PATH": str(programs)}


def test_in_tmux(server: Server, scene: Scene) -> None:
    """Typed inside tmux, watch opens the window there and shows it; attach leads back to it."""
    scene.spawn("auth", TASK)
    pane = server.begin("work")
    server.tmux("send-keys", "-t", pane, f"cd {scene.root} && git-worker watch {TASK}", "Enter")
    wait_until(lambda: server.windows() == ["work shell", f"work w:{TASK}"])
    window = server.tmux("list-windows", "-t", "work:", "-F", "#{window_id}").splitlines()[1]
    wait_until(lambda: server.current("work") == window)
    wait_until(lambda: len(server.heights(window)) == 2)
    server.tmux("select-window", "-t", "work:0")
    server.tmux("send-keys", "-t", pane, f"git-worker attach {TASK}", "Enter")
    wait_until(lambda: server.current("work") == window)
    assert server.windows() == ["work shell", f"work w:{TASK}"]


def test_on_a_terminal(server: Server, scene: Scene) -> None:
    """On a terminal outside of tmux the session is made and attached, until its user leaves."""
    worktree = scene.spawn("auth", TASK)
    (worktree / ".worker.log").write_text("said before\n")
    with on_terminal(scene.root, "watch", "auth") as terminal:
        terminal.read_until("said before")
        assert server.windows() == [f"gitworker w:{TASK}"]
        server.tmux("detach-client", "-s", "gitworker")
        terminal.read_until("[detached")
        assert terminal.process.wait(DEADLINE_S) == 0
    assert server.windows() == [f"gitworker w:{TASK}"]


def test_on_a_pipe(server: Server, scene: Scene) -> None:
    """On a pipe the window is created and the command to attach is printed, every time."""
    scene.spawn("auth", TASK)
    expected = f"w:{TASK} is open in the tmux session gitworker: git worker attach {TASK}\n"
    for words in (TASK, "auth", f"auth/{TASK}"):
        assert scene.run("watch", words) == Answer(0, expected, "")
    assert server.windows() == [f"gitworker w:{TASK}"]
    document = scene.run("watch", "auth", "--json").document
    assert set(document) == {
        "schema", "task", "name", "session", "window", "panes", "new", "left_out",
    }  # fmt: skip
    assert (document["name"], document["session"], document["new"]) == (
        f"w:{TASK}", "gitworker", False,
    )  # fmt: skip
    assert scene.run("watch", cwd=scene.root / "worktrees" / TASK) == Answer(0, expected, "")


def test_all_workers(server: Server, scene: Scene) -> None:
    """The grid of all workers is one window, and without a worker the command is refused."""
    assert scene.run("watch", "--all").status == 1  # not set up
    ok(scene.root, "init")
    assert scene.run("watch", "--all") == Answer(
        4, "", "error: no worker has a task\nhint: git worker spawn <worker> <task>\n"
    )
    scene.spawn("auth", TASK)
    scene.spawn("docs", "guide")
    expected = "w:all is open in the tmux session gitworker: tmux attach-session -t '$0'\n"
    assert scene.run("watch", "--all") == Answer(0, expected, "")
    assert len(server.heights(server.current("gitworker"))) == 2
    note("git worker spawn <worker> <task>", "no worker has a task")
    answer = scene.run("watch", "--all", "auth")
    assert (answer.status, answer.err.endswith("hint: git worker watch --all\n")) == (2, True)
    note("git worker watch --all", answer.err)


def test_a_grid_without_space(server: Server, scene: Scene) -> None:
    """Workers that the window has no room for are named."""
    for number in range(3):
        scene.spawn(f"w{number}", f"t{number}")
    server.tmux("new-session", "-d", "-s", "gitworker", "-x", "10", "-y", "3", "cat")
    answer = scene.run("watch", "--all")
    assert answer.status == 0
    assert answer.err.startswith("warning: the window has no room for w")
    assert answer.err.endswith("\nhint: git worker status\n")


def test_spawn_opens_the_window(server: Server, scene: Scene) -> None:
    """`spawn --tmux` opens the window, does not switch to it, and prints only the path."""
    pane = server.begin("work")
    env = server.inside(pane)
    before = server.current("work")
    answer = scene.run("spawn", "auth", TASK, "--tmux", env=env)
    expected = f"w:{TASK} is open: git worker attach {TASK}\n"
    assert answer == Answer(0, f"<root>/worktrees/{TASK}\n", expected)
    assert server.windows() == ["work shell", f"work w:{TASK}"]
    assert server.current("work") == before
    assert scene.run("attach", TASK, env=env) == Answer(0, "", "")
    note(f"git worker attach {TASK}", expected)
    window = server.current("work")
    assert window != before
    document = scene.run("attach", TASK, "--json", env=env).document
    assert (document["window"], document["session"]) == (window, "work")


def test_spawn_without_tmux(scene: Scene, without_tmux: dict[str, str]) -> None:
    """Without tmux, `spawn --tmux` reports it and still assigns the task."""
    answer = scene.run("spawn", "auth", TASK, "--tmux", env=without_tmux)
    assert (answer.status, answer.out) == (0, f"<root>/worktrees/{TASK}\n")
    assert answer.err == (
        "error: no window: tmux cannot be used: cannot run tmux: No such file or directory\n"
        "hint: install tmux 3.1 or later\n"
    )


def test_nowhere_to_go(server: Server, scene: Scene) -> None:
    """Attach names the missing window, and is refused if it could show none."""
    scene.spawn("auth", TASK)
    hint = f"error: no window shows task {TASK}\nhint: git worker watch {TASK}\n"
    assert scene.run("attach", TASK) == Answer(4, "", hint)
    ok(scene.root, "watch", TASK)
    note(f"git worker watch {TASK}", hint)
    answer = scene.run("attach", TASK)
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.endswith("hint: tmux attach-session -t '$0'   # in a terminal\n")
    words = ("attach-session", "-t", "$0")
    with on_terminal(scene.root, *words, program="tmux") as terminal:
        wait_until(lambda: server.tmux("list-clients", "-t", "gitworker") != "")
        server.tmux("detach-client", "-s", "gitworker")
        assert terminal.process.wait(DEADLINE_S) == 0
    note("tmux attach-session -t '$0'", answer.err)


def test_without_tmux_on_a_pipe(scene: Scene, without_tmux: dict[str, str]) -> None:
    """Without tmux a pipe gets the events so far, with the agent's log."""
    worktree = scene.spawn("auth", TASK)
    (worktree / ".worker.log").write_text("said before\n")
    answer = scene.run("watch", TASK, env=without_tmux)
    assert (answer.status, answer.err) == (
        0,
        "error: tmux cannot be used: cannot run tmux: No such file or directory\n"
        "hint: install tmux 3.1 or later\n",
    )
    assert answer.out.splitlines()[-1] == "<time>  auth | said before"
    assert "no task → not started yet, by hq" in answer.out
    assert scene.run("watch", "--all", "--json", env=without_tmux).document["worker"] is None
    assert scene.run("attach", TASK, env=without_tmux).status == 1


def test_a_server_that_does_not_start(server: Server, scene: Scene) -> None:
    """If no tmux server can be started, the error says so, and the log is shown instead."""
    scene.spawn("auth", TASK)
    with open(f"{server.directory}/tmux-{os.getuid()}", "w"):
        pass  # if tmux requires a directory for its sockets
    for words in (("watch", TASK), ("watch", "--all")):
        answer = scene.run(*words)
        assert answer.status == 0
        assert answer.err.startswith("error: tmux new-session failed\n  ")
        assert "no task → not started yet, by hq" in answer.out


def test_without_tmux_on_a_terminal(scene: Scene, without_tmux: dict[str, str]) -> None:
    """Without tmux a terminal gets events as they happen, and no escape of the agent's."""
    worktree = scene.spawn("auth", TASK)
    with on_terminal(scene.root, "watch", TASK, env=without_tmux) as terminal:
        terminal.read_until("no task → not started yet, by hq")
        with open(worktree / ".worker.log", "a") as log:
            log.write("\x1b]0;evil\x07said \x1b[31mnow\x1b[0m\n")
        assert "\x1b" not in terminal.read_until("said now")


def test_attach_to_a_detached_agent(server: Server, scene: Scene) -> None:
    """On a terminal, attach opens the window of an agent that works detached, and shows its log."""
    script = "echo first words; while ! test -e go; do sleep 0.05; done; echo last words"
    ok(scene.root, "spawn", "auth", TASK, "-d", "--", "sh", "-c", script)
    with on_terminal(scene.root, "attach", "auth") as terminal:
        terminal.read_until("first words")
        (scene.root / "worktrees" / TASK / "go").touch()
        terminal.read_until("last words")
        server.tmux("detach-client", "-s", "gitworker")
        assert terminal.process.wait(DEADLINE_S) == 0
    assert server.windows() == [f"gitworker w:{TASK}"]


def test_how_to_follow(scene: Scene, without_tmux: dict[str, str]) -> None:
    """Without tmux, and without a terminal, attach names the command that follows the log."""
    hint = "hint: git worker log auth -f\n"
    ok(scene.root, "spawn", "auth", TASK, "-d", "--", "true")
    answer = scene.run("attach", "auth", env=without_tmux)
    assert (answer.status, answer.out, answer.err.endswith(hint)) == (1, "", True)
    answer = scene.run("attach", "auth")
    assert (answer.status, answer.out, answer.err.endswith(hint)) == (1, "", True)


def test_the_log_of_a_detached_agent(scene: Scene) -> None:
    """`log -f` follows the output of an agent that works detached, to its end."""
    script = "echo first words; while ! test -e go; do sleep 0.05; done; echo last words; exit 3"
    ok(scene.root, "spawn", "auth", TASK, "-d", "--", "sh", "-c", script)
    with running(scene.root, "log", "auth", "-f") as follower:
        (scene.root / "worktrees" / TASK / "go").touch()
        shown = ""
        while "last words" not in shown or "it ended with status 3" not in shown:
            shown += read_line(follower)
        assert "first words" in shown, "its output from before counts"
        follower.communicate(timeout=DEADLINE_S)
        assert follower.returncode == 0
    again = scene.run("log", "auth", "--follow", "--json", "--type", "log")
    lines = [line["line"] for line in again.lines if "line" in line]
    assert (lines, again.status) == (["first words", "last words"], 0)
    ended = "the agent of auth has ended: it ended with status 3; next: git worker show auth\n"
    assert again.err == ended
