"""`hook` as agents call it: their JSON on standard input, JSON or nothing on standard output."""

import contextlib
import fcntl
import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitworker.cli.hot.hook import WRITE_WAIT_MS
from gitworker.store.sqlite.write_gate import GATE_TIMEOUT_MS
from tests.cli.conftest import Scene
from tests.cli.kit import PROGRAM, Answer, ok, run, wait_until

SILENCE = Answer(0, "", "")
# The input of a tool call as Claude Code 2.1.330 writes it, made larger than a pipe's buffer.
INPUT = json.dumps(
    {
        "session_id": "7a5f", "transcript_path": "/r/7a5f.jsonl",
        "cwd": "/r", "hook_event_name": "PostToolUse", "tool_name": "Bash",
        "tool_input": {"command": "cat big"}, "tool_response": {"stdout": "x" * 200_000},
        "tool_use_id": "toolu_1", "duration_ms": 12, "permission_mode": "default",
    }
).encode()  # fmt: skip


def test_an_agent_hears_its_messages(scene: Scene) -> None:
    """A tool call gives the agent its unread message once, in one line of JSON."""
    worktree = scene.spawn("auth", "t1")
    introduction = run(worktree, "hook", "SessionStart", stdin=INPUT).document
    assert "worker auth" in introduction["hookSpecificOutput"]["additionalContext"]
    ok(scene.root, "send", "auth", "Use port 8080")
    heard = run(worktree, "hook", "PostToolUse", stdin=INPUT)
    output = heard.document["hookSpecificOutput"]
    assert output["hookEventName"] == "PostToolUse"
    assert "Use port 8080" in output["additionalContext"]
    assert run(worktree, "hook", "PostToolUse", stdin=INPUT) == SILENCE


def test_it_is_silent_elsewhere(scene: Scene, tmp_path: Path) -> None:
    """Outside the worktrees of workers a hook prints nothing and succeeds."""
    scene.spawn("auth", "t1")
    for place in (scene.root, tmp_path, Path("/")):
        for event in ("SessionStart", "PostToolUse", "Stop"):
            assert run(place, "hook", event, stdin=INPUT) == SILENCE


@pytest.mark.parametrize("damage", ["database", "schema"])
def test_our_failures_do_not_stop_the_agent(scene: Scene, damage: str) -> None:
    """With an unusable database a hook prints nothing and succeeds."""
    worktree = scene.spawn("auth", "t1")
    if damage == "database":
        (scene.state / "bus.db").write_bytes(b"no database at all" * 100)
    else:
        (scene.state / "bus.db").unlink()
        (scene.state / "bus.db").mkdir()
    assert run(worktree, "hook", "Stop", stdin=INPUT) == SILENCE


@pytest.mark.parametrize("event", ["SessionStart", "PostToolUse", "Stop"])
def test_a_busy_database_delays_no_agent(scene: Scene, event: str) -> None:
    """While another process holds the database, a hook gives its answer after a short wait."""
    worktree = scene.working()
    ok(scene.root, "send", "auth", "Use port 8080")
    with open(scene.state / "bus.db-gate", "rb+") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        begun = time.monotonic()
        heard = run(worktree, "hook", event)
        assert time.monotonic() - begun < GATE_TIMEOUT_MS / 1000 / 4
    assert (heard.status, heard.err) == (0, "")
    assert ("port 8080" in heard.out) == (event in {"SessionStart", "PostToolUse"})


def test_a_busy_database_hides_no_question(scene: Scene) -> None:
    """The question of an agent is recorded although the database is held for longer than usual."""
    worktree = scene.working()
    with open(scene.state / "bus.db-gate", "rb+") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        with subprocess.Popen(
            [PROGRAM, "hook", "Notification"], cwd=worktree, stdin=subprocess.DEVNULL
        ) as hook:
            with contextlib.suppress(subprocess.TimeoutExpired):
                hook.wait(WRITE_WAIT_MS / 1000 * 4)
            fcntl.flock(gate, fcntl.LOCK_UN)
    wait_until(lambda: "blocked auth" in run(scene.root, "inbox").out)


def test_a_busy_database_delays_no_start(scene: Scene) -> None:
    """A session of an ASSIGNED worker begins at once; its work begins when the database is free."""
    worktree = scene.spawn("auth", "t1")
    with open(scene.state / "bus.db-gate", "rb+") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        begun = time.monotonic()
        heard = run(worktree, "hook", "SessionStart")
        assert time.monotonic() - begun < GATE_TIMEOUT_MS / 1000 / 4
        assert "worker auth" in heard.out
    wait_until(lambda: stored(scene)[0] == "WORKING")


# An agent: it runs its hook through a shell, as agents do, and lives on.
AGENT = """
import subprocess, sys
subprocess.run([*sys.argv[1:]], check=True, stdin=subprocess.DEVNULL)
sys.stdin.read()
"""


def test_the_agent_is_bound(scene: Scene) -> None:
    """The work that a session begins is bound to the agent's process, not to the hook's shell."""
    worktree = scene.spawn("auth", "t1")
    hook = ("sh", "-c", f"'{PROGRAM}' hook SessionStart 2>/dev/null || : # gitworker")
    with subprocess.Popen(
        [sys.executable, "-c", AGENT, *hook],
        cwd=worktree, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
    ) as agent:  # fmt: skip
        wait_until(lambda: stored(scene)[0] == "WORKING")
        assert stored(scene) == ("WORKING", agent.pid)


def stored(scene: Scene) -> tuple[str, int | None]:
    """Return the state and the process of the worker `auth`."""
    with contextlib.closing(sqlite3.connect(scene.state / "bus.db", timeout=60)) as database:
        (row,) = database.execute("SELECT state, pid FROM workers WHERE worker_id = 'auth'")
    return row[0], row[1]


def test_unknown_events_are_refused(scene: Scene) -> None:
    """A misspelt event is a usage error, which lists the events."""
    refused = run(scene.root, "hook", "PreCoffee")
    assert refused.status == 2
    assert "PostToolUse" in refused.err


def test_the_setting_hands_in(scene: Scene) -> None:
    """With `agent.hand_in` the end of a turn hands committed work in."""
    ok(scene.root, "config", "agent.hand_in", "true")
    worktree = scene.spawn("auth", "t1")
    run(worktree, "hook", "SessionStart")
    scene.commit(worktree, "new.txt")
    assert run(worktree, "hook", "Stop") == SILENCE
    assert "IN_REVIEW" in ok(scene.root, "list")


def test_a_worktree_of_claude_is_a_worker(scene: Scene) -> None:
    """The documented inputs make and remove a worktree; unlanded work is kept with status 1."""
    common = {"session_id": "7a5f", "transcript_path": "/r/7a5f.jsonl", "cwd": str(scene.root)}
    wanted = {**common, "hook_event_name": "WorktreeCreate", "name": "login-form"}
    worktree = Path(ok(scene.root, "hook", "WorktreeCreate", stdin=json.dumps(wanted).encode()))
    removal = {**common, "hook_event_name": "WorktreeRemove", "worktree_path": str(worktree)}
    (worktree / "new").write_text("new")
    kept = run(scene.root, "hook", "WorktreeRemove", stdin=json.dumps(removal).encode())
    assert kept.status == 1
    assert "not committed" in kept.err
    (worktree / "new").unlink()
    assert ok(scene.root, "hook", "WorktreeRemove", stdin=json.dumps(removal).encode()) == ""
    assert not worktree.exists()


@pytest.mark.parametrize(
    "input", [b"", b"[]", b"{}", b'{"name": 7}', b"\xff", b'{"name": "/"}', b"[" * 99_999]
)
def test_a_bad_input_makes_no_worktree(scene: Scene, input: bytes) -> None:
    """Without a usable name no worktree is made, and the agent sees a failure."""
    assert run(scene.root, "hook", "WorktreeCreate", stdin=input).status == 2
