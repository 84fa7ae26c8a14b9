"""The landing queue on the command line: its list, its plan, its failures and its watch mode."""

import os
import re
import signal

import pytest

from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, read_line, read_lines, running, unmeasured
from tests.conftest import git

TIMES = re.compile(r"\d+\.\d s")
LOG = re.compile(r"\S+/logs/verify/\S+\.log")


def plain(answer: Answer) -> Answer:
    """Make durations and the names of log files the same every time."""
    out, err = (LOG.sub("<log>", TIMES.sub("<s>", text)) for text in (answer.out, answer.err))
    return Answer(answer.status, out, err)


@pytest.fixture
def verified(scene: Scene) -> Scene:
    """A repository whose user verifies the target: no file `bad` may be there."""
    git(scene.root, "config", "worker.verify.commands", "test ! -e bad")
    return scene


def test_the_line(scene: Scene) -> None:
    """The queue lists the approved workers in the order in which they land."""
    ok(scene.root, "init")
    assert scene.run("queue") == Answer(0, "nothing is approved\n", "")
    scene.approved("auth", "t1", "a.txt")
    scene.approved("docs", "t2", "b.txt")
    rows = [line.split() for line in scene.run("queue").out.splitlines()]
    assert rows[1:] == [
        ["1", "auth", "t1", "100", "<age>", "-", "-"],
        ["2", "docs", "t2", "100", "<age>", "-", "-"],
    ]


def test_the_line_as_json(verified: Scene) -> None:
    """As JSON the queue reports places, windows and every verdict."""
    verified.approved("auth", "t1", "a.txt")
    ok(verified.root, "merge", "--all")
    verified.approved("docs", "t2", "b.txt")
    found = verified.run("queue", "--json").document
    assert set(found) == {"schema", "running", "queue", "windows"}
    assert found["running"] is False
    (place,) = found["queue"]
    assert (place["worker_id"], place["task_id"], place["priority"]) == ("docs", "t2", 100)
    (window,) = found["windows"]
    assert (window["outcome"], window["landed"], window["size"]) == ("landed", 1, 8)
    (verdict,) = window["verdicts"]
    assert (verdict["prefix"], verdict["passed"], verdict["cached"]) == (1, True, False)


def test_the_culprit(verified: Scene) -> None:
    """A failed worker is named with command and log, the others land, and the status shows it."""
    verified.approved("auth", "t1", "a.txt")
    verified.approved("docs", "t2", "bad")
    assert plain(verified.run("merge", "--all")) == Answer(
        1,
        "auth landed: main is at <short>\n",
        "verifying docs and 1 before it\n"
        "docs and 1 before it: failed after <s>: `test ! -e bad` ended with status 1\n"
        "verifying auth\n"
        "auth: passed after <s>\n"
        "error: docs: docs/t2 does not pass: `test ! -e bad` ended with status 1; it was sent back"
        " to worker docs\n"
        "hint: less <log>\n",
    )
    shown = plain(verified.run("queue")).out
    assert "window 1: a worker failed, 1 of 2 landed: auth docs\n" in shown
    assert "  first 2: failed: `test ! -e bad` ended with status 1 (<s>) <log>\n" in shown


def test_a_failing_target_is_reported_once(verified: Scene) -> None:
    """If the target itself fails, one message is printed for all workers."""
    verified.approved("auth", "t1", "a.txt")
    verified.approved("docs", "t2", "b.txt")
    verified.commit(verified.root, "bad")
    answer = plain(verified.run("merge", "--all"))
    assert answer.status == 1
    assert answer.err.endswith(
        "error: auth, docs: main itself does not pass (`test ! -e bad` ended with status 1);"
        " nothing lands on it\nhint: less <log>\n"
    )


def test_the_plan(verified: Scene) -> None:
    """A dry run shows the windows, as text and as JSON."""
    verified.approved("auth", "t1", "a.txt")
    verified.approved("docs", "t2", "b.txt")
    plan = "window 1: auth (t1)\nwindow 1: docs (t2)\n"
    assert verified.run("merge", "--all", "--dry-run") == Answer(0, plan, "")
    found = verified.run("merge", "docs", "--dry-run", "--json").document
    (one,) = found["plan"]
    assert (one["worker"], one["task"], one["window"], one["error"]) == ("docs", "t2", 1, None)


def test_commands_of_the_repository(scene: Scene) -> None:
    """Commands that the repository brings run only once a person has agreed to them."""
    scene.commit(scene.root, ".gitworker.toml", '[verify]\ncommands = ["true"]\n')
    scene.approved()
    answer = scene.run("merge", "auth")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err.endswith("hint: git worker trust\n")
    ok(scene.root, "trust", "--yes")
    assert scene.run("merge", "auth").status == 0


def test_a_landed_window_is_reported_at_once(verified: Scene) -> None:
    """A run reports each window as it lands, and a lost reader does not end the run."""
    gate = verified.root / "gate"
    os.mkfifo(gate)
    git(verified.root, "config", "worker.merge.window", "1")
    git(
        verified.root, "config", "worker.verify.commands", f"test ! -e b.txt || read -r _ <'{gate}'"
    )
    verified.approved("auth", "t1", "a.txt")
    verified.approved("docs", "t2", "b.txt")
    with running(verified.root, "merge", "--all", env=unmeasured()) as merge:
        assert read_line(merge).startswith("auth landed: main is at ")
        assert merge.stdout is not None
        merge.stdout.close()
        merge.stdout = None
        gate.write_text("go on\n")
        assert merge.wait(60) == 141
    assert git(verified.root, "ls-tree", "--name-only", "main", "b.txt") == "b.txt"


def test_watching_lands_new_approvals(verified: Scene) -> None:
    """A watching queue lands each worker that is approved, until an interrupt ends it."""
    with running(verified.root, "queue", "--watch", "--json", env=unmeasured()) as queue:
        verified.approved("auth", "t1", "a.txt")
        (first,) = read_lines(queue, 1)
        assert (first["worker"], first["landed"]) == ("auth", True)
        verified.approved("docs", "t2", "b.txt")
        (second,) = read_lines(queue, 1)
        assert (second["worker"], second["landed"]) == ("docs", True)
        queue.send_signal(signal.SIGINT)
        assert queue.wait(30) == 130
