"""`heartbeat`: one sign of life, or one every so often."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gitworker.bus.limits.send_limits import Limits
from gitworker.cli.commands.work.repeat_heartbeat import repeat_heartbeat
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import open_database
from tests.cli.conftest import Scene
from tests.cli.kit import Answer, ok, run, running, wait_until


def beat_of(scene: Scene, worker: str = "auth") -> Any:
    """Return status, task and progress of a worker's last heartbeat."""
    row = open_database(str(scene.state / "bus.db")).row("liveness.of_agent", agent=worker)
    return row and (row["status"], row["current_task"], row["progress"])


def test_one_beat(scene: Scene) -> None:
    """A heartbeat prints nothing, changes the given values and keeps the others."""
    worktree = scene.spawn("auth", "t1")
    assert run(worktree, "heartbeat") == Answer(0, "", "")
    assert beat_of(scene) == ("working", "t1", None)
    assert run(worktree, "heartbeat", "--status=idle", "--progress", "0.5") == Answer(0, "", "")
    assert beat_of(scene) == ("idle", "t1", 0.5)
    assert run(scene.root, "heartbeat", "t1", "--task", "other") == Answer(0, "", "")
    assert beat_of(scene) == ("idle", "other", 0.5)
    ok(scene.root, "heartbeat", "auth/t1")
    assert beat_of(scene) == ("idle", "other", 0.5)


def test_in_the_worktree_of_another_worker(scene: Scene) -> None:
    """An inherited GITWORKER_ID is refused in the worktree of another worker, by exec too."""
    scene.spawn("auth", "t1")
    place = scene.spawn("docs", "t2")
    for words in (["heartbeat"], ["exec", "--", "true"], ["fail", "-m", "no"]):
        answer = run(place, *words, env={"GITWORKER_ID": "auth"})
        assert answer.status == 1
        assert answer.err.startswith(
            "error: GITWORKER_ID is auth, but this worktree belongs to docs"
        )
    assert run(place, "heartbeat", "--as", "auth", env={"GITWORKER_ID": "auth"}).status == 0


def test_a_lost_task_is_named(scene: Scene) -> None:
    """The heartbeat of a worker whose task was cancelled is recorded, with a warning."""
    scene.spawn("auth", "t1")
    ok(scene.root, "cancel", "auth")
    warning = "warning: task t1 was cancelled by hq, so worker auth has no task\n"
    answer = run(scene.root, "heartbeat", env={"GITWORKER_ID": "auth"})
    assert answer == Answer(0, "", f"{warning}hint: git worker inbox --as auth\n")
    assert beat_of(scene) == ("working", None, None)


def test_the_state_file(scene: Scene) -> None:
    """A heartbeat is in the worker's state file when the command returns."""
    worktree = scene.spawn("auth", "t1")
    view = scene.state / "workers" / "auth.json"
    before = json.loads(view.read_text())
    ok(worktree, "heartbeat")
    after = json.loads(view.read_text())
    assert before["last_heartbeat"] is None
    assert after.pop("last_heartbeat") is not None
    assert after == {key: value for key, value in before.items() if key != "last_heartbeat"}


def test_claims_are_renewed(scene: Scene) -> None:
    """A heartbeat extends the worker's lease."""
    worktree = scene.spawn("auth", "t1")
    database = open_database(str(scene.state / "bus.db"))
    before = database.row("claims.of_name", task="t1")
    ok(worktree, "heartbeat", env={"GITWORKER_CLAIMS_LEASE_S": "600"})
    after = database.row("claims.of_name", task="t1")
    assert before is not None
    assert after is not None
    assert after["lease_until_ms"] - before["lease_until_ms"] > 500_000


def test_blocked_is_published_once(scene: Scene) -> None:
    """An agent that becomes blocked publishes it once."""
    worktree = scene.spawn("auth", "t1")
    for _ in range(2):
        ok(worktree, "heartbeat", "--status", "blocked")
    lines = run(scene.root, "msg", "poll").lines
    blocked = [m for m in lines if m["type"] == "task_blocked"]
    assert [(m["from"], m["correlation_id"]) for m in blocked] == [("auth", "t1")]
    assert '"task_blocked"' in (scene.state / "bus.jsonl").read_text()


@pytest.mark.parametrize(
    "words",
    [
        ("--status", "sleeping"),
        ("--progress", "1.5"),
        ("--progress", "nan"),
        ("--progress", "half"),
        ("--task", "a..b"),
        ("--every", "1"),
        ("--pid", "1"),
        ("--every", "0", "--pid", "1"),
        ("--every", "nan", "--pid", "1"),
        ("--every", "inf", "--pid", "1"),
        ("--nonsense",),
        ("a", "b"),
        ("--status",),
    ],
)
def test_misuse(scene: Scene, words: tuple[str, ...]) -> None:
    """Invalid arguments are a usage error and send no heartbeat."""
    worktree = scene.spawn("auth", "t1")
    answer = run(worktree, "heartbeat", *words)
    assert (answer.status, answer.out) == (2, ""), answer
    assert beat_of(scene) is None


def test_unknown_worker(scene: Scene) -> None:
    """A worker that is not there does not live."""
    scene.spawn("auth", "t1")
    answer = run(scene.root, "heartbeat", "unknown")
    assert answer == Answer(
        4, "", "error: no worker, task or branch is called 'unknown'\nhint: git worker list\n"
    )
    assert run(scene.root, "heartbeat", env={"GITWORKER_ID": "ghost"}).status == 4


def test_every(scene: Scene, tmp_path: Path) -> None:
    """With --every it sends heartbeats until the process ends, then exits with status 0."""
    scene.spawn("auth", "t1")
    database = open_database(str(scene.state / "bus.db"))

    def last_heartbeat_ms() -> int:
        row = database.row("liveness.of_agent", agent="auth")
        return int(row["ts_ms"]) if row else 0

    agent = subprocess.Popen(["sleep", "600"])
    words = ("heartbeat", "auth", "--every", "0.05", "--pid", str(agent.pid))
    with running(scene.root, *words) as sender:
        wait_until(last_heartbeat_ms)
        first = last_heartbeat_ms()
        wait_until(lambda: last_heartbeat_ms() > first)
        agent.kill()
        agent.wait()
        assert sender.wait(30) == 0
    assert scene.run(*words).status == 4


def test_a_busy_bus_costs_a_beat(scene: Scene, capfd: pytest.CaptureFixture[str]) -> None:
    """A heartbeat that cannot be recorded is reported, and the next ones are still sent."""
    scene.spawn("auth", "t1")
    place: Any = SimpleNamespace(
        store=open_database(str(scene.state / "bus.db")), paths=StatePaths(str(scene.state)),
        limits=Limits(),
    )  # fmt: skip
    place.store.connection.set_busy_timeout(1)
    other = sqlite3_writer(scene.state / "bus.db")
    warnings: list[str] = []

    def has_told() -> bool:
        warnings.append(capfd.readouterr().err)
        return "warning: no heartbeat recorded for auth: the database is busy" in "".join(warnings)

    agent = subprocess.Popen(["sleep", "600"])
    beating = threading.Thread(
        target=repeat_heartbeat, args=(place, "auth"), kwargs={"pid": agent.pid, "every_s": 0.05}
    )
    beating.start()
    try:
        wait_until(has_told)
        assert other.communicate(b"\n", timeout=30)
        wait_until(lambda: beat_of(scene))
        assert beating.is_alive()
    finally:
        agent.kill()
        agent.wait()
        beating.join()
        place.store.close()


def sqlite3_writer(database: Path) -> "subprocess.Popen[bytes]":
    """Return a foreign program that holds the database's write lock until it is ended."""
    script = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN IMMEDIATE');"
        " print('held', flush=True); sys.stdin.readline()"
    )
    pipe = subprocess.PIPE
    words = [sys.executable, "-c", script, str(database)]
    holder = subprocess.Popen(words, stdin=pipe, stdout=pipe)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    return holder


def test_a_failed_worker_resumes(scene: Scene) -> None:
    """A heartbeat of a worker whose agent has failed brings it back to work."""
    worktree = scene.spawn("auth", "t1")
    assert run(scene.root, "exec", "auth", "--", "false").status == 1
    assert run(worktree, "heartbeat") == Answer(0, "", "")
    assert "auth\tWORKING\tt1" in ok(scene.root, "list")


def test_a_worker_that_gave_up(scene: Scene) -> None:
    """A heartbeat does not resume a worker that has given up."""
    worktree = scene.working("auth", "t1")
    ok(worktree, "fail", "-m", "No")
    assert run(worktree, "heartbeat") == Answer(0, "", "")
    assert "auth\tFAILED\tt1" in ok(scene.root, "list")
