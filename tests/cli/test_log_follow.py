"""`log --follow`: past events, then new ones, as text or as JSON Lines."""

import os
import signal
from pathlib import Path

from tests.cli.conftest import Scene
from tests.cli.kit import DEADLINE_S, Answer, ok, plain, read_lines, running, unmeasured


def test_json_lines(scene: Scene) -> None:
    """Changes of state, commits, messages and lines of the agent's log come as they happen."""
    worktree = scene.spawn("auth", "t1")
    words = ("log", "auth", "--follow", "--json", "-n", "1")
    with running(scene.root, *words, env=unmeasured()) as process:
        (last,) = read_lines(process, 1)
        assert (last["kind"], last["to"]) == ("transition", "ASSIGNED")
        ok(scene.root, "start", "auth", "--pid", str(scene.agent_pid))
        moves = [line["entity"] for line in read_lines(process, 3) if line["kind"] == "transition"]
        assert moves == ["auth", "t1"]
        (worktree / ".worker.log").write_text("I begin\n")
        (said,) = read_lines(process, 1)
        assert (said["kind"], said["worker"], said["line"]) == ("log", "auth", "I begin")
        with (worktree / ".worker.log").open("a") as log:
            log.write("\x1b[2J\x1b[3;5HThinking")
        (shown,) = read_lines(process, 1)
        assert (shown["kind"], shown["line"]) == ("log", "    Thinking")
        scene.commit(worktree, "new.txt")
        (commit,) = read_lines(process, 1)
        assert (commit["kind"], commit["payload"]["subject"]) == ("commit", "Write new.txt")
        ok(worktree, "msg", "send", "status", '{"phase": "tests"}')
        (message,) = read_lines(process, 1)
        assert (message["kind"], message["payload"]) == ("message", {"phase": "tests"})
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_S) == 130


def test_texts(scene: Scene) -> None:
    """On a pipe each event is a line, and the end of the state directory is the end."""
    scene.spawn("auth", "t1")
    with running(scene.root, "log", "-f") as process:
        assert process.stdout is not None
        ok(scene.root, "msg", "send", "x-note", '"now"')
        lines = []
        while not lines or "x-note" not in lines[-1]:
            lines.append(plain(process.stdout.readline().decode(), scene.root))
        assert lines[-1] == '<time>  hq  x-note: "now"\n'
        scene.state.rename(scene.root / "away")
        _, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, err) == (0, b"the state directory was deleted\n")


def test_a_reader_that_ends(scene: Scene) -> None:
    """Follow ends without a message once its output has no reader."""
    scene.spawn("auth", "t1")
    read_end, write_end = os.pipe()
    with running(scene.root, "log", "-f", stdout=write_end) as process:
        os.close(write_end)
        os.read(read_end, 1)
        os.close(read_end)
        assert process.wait(DEADLINE_S) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_the_agents_log(scene: Scene) -> None:
    """Without --follow the agent's lines come on request only."""
    worktree: Path = scene.spawn("auth", "t1")
    (worktree / ".worker.log").write_text("one\ntwo\n")
    assert "|" not in scene.run("log", "auth").out
    answer = scene.run("log", "auth", "-n", "1", "--agent-log", "1")
    assert (answer.status, answer.err) == (0, "")
    assert "<time>  auth | two\n" in answer.out
    assert "one" not in answer.out
    assert scene.run("log", "--agent-log", "5") == Answer(
        2,
        "",
        "error: --agent-log requires a worker\nhint: git worker log --agent-log 20 <worker>\n",
    )
