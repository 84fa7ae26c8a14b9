"""Lives are killed with SIGKILL at random times: nothing is lost or left behind."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.agents import lives
from fixtures.repos import Repo
from tests.crash.inventory import all_bytes, require_tidy, take
from tests.workers.world import World, is_at_work, wait_until, without_heartbeat_daemon

SCALE = float(os.environ.get("GITWORKER_TEST_SCALE", "1"))
KILLS = int(9 * SCALE)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_random_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """A script that spawns, commits, hands in, approves and lands is killed again and again."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    chance = random.Random(seed)
    world = World.make(tmp_path / "repo")
    record = tmp_path / "record"
    record.touch()
    with without_heartbeat_daemon(world):
        for number in range(KILLS):
            run_and_kill(world, record, after_s=chance.uniform(0.1, 1.5), first=number * 100)
            settle(world)
            require_all_kept(world, record)
        before = take(world)
        assert world.drive("recover_all").stdout.strip() == ""
        require_tidy(world, before)
        world.require_sound()
    # A kill between the user's own `git add` and `git commit` leaves his file so.
    dirty = world.git("status", "--porcelain").splitlines()
    assert [line for line in dirty if "by-hand-" not in line] == []


def run_and_kill(world: World, record: Path, *, after_s: float, first: int) -> None:
    """Let lives run for a while, then kill the process that runs them."""
    argv = [sys.executable, str(lives.__file__), "auth", str(first), str(record)]
    with subprocess.Popen(argv, cwd=world.root, start_new_session=True) as process:
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        else:
            raise AssertionError(f"the lives ended by themselves: {process.returncode}")
    wait_until(lambda: not is_at_work(world.root))  # a git that it had started ends by itself


def settle(world: World) -> None:
    """Settle the killed operation, as the next command does, and free the worker."""
    done = world.drive("recover_all")
    assert done.returncode == 0, done.stderr
    rows = world.query("SELECT state FROM workers WHERE worker_id = 'auth'")
    state = rows[0][0] if rows else "IDLE"
    if state not in ("IDLE", "COMPLETED"):
        done = world.drive("cancel", "auth")
        assert done.returncode == 0, done.stderr
    assert world.query("SELECT kind FROM operations WHERE status = 'open'") == []


def require_all_kept(world: World, record: Path) -> None:
    """Fail the test unless each recorded commit and each recorded file still exists."""
    reached = set(world.git("rev-list", "--all").splitlines())
    contents = set(all_bytes(world))
    blobs = Repo(world.root).run("cat-file", "--batch-all-objects", "--batch").stdout
    for line in record.read_text().splitlines():
        kind, value = line.split(" ", 1)
        if kind == "commit":
            assert value in reached, value
        else:
            assert value.encode() in contents or value.encode() in blobs, value
