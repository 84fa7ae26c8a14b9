"""The landing queue with many workers: undisturbed, killed, two at once, on a busy remote."""

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.landing.merge import merge
from tests.crash.queue_load import CHECK, QueueLoad, make_world
from tests.workers.world import World, wait_until, without_heartbeat_daemon

SCALE = float(os.environ.get("GITWORKER_TEST_SCALE", "1"))
COUNT = max(20, int(40 * SCALE))
KILLS = 3  # at the least, before a queue may end
USUAL_PUSH_S = 0.2  # of a pull, a commit and a push on an otherwise idle machine

pytestmark = pytest.mark.slow


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A repository with verify commands of its user's."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    monkeypatch.setenv("GITWORKER_VERIFY_COMMANDS", CHECK)
    world = make_world(tmp_path / "repo")
    with without_heartbeat_daemon(world):
        yield world


def test_many_land(world: World, tmp_path: Path) -> None:
    """All good workers land, and each bad one is sent back for its own reason, with few runs."""
    load = QueueLoad.fill(world, COUNT, seed=1)
    merge(world.session(), [], everything=True)
    load.require_result()
    load.require_every_tip_verified(tmp_path / "look")
    assert load.count_runs() <= 0.45 * COUNT


def test_many_land_though_killed(world: World, tmp_path: Path) -> None:
    """However often the queue is killed -9, the next one brings it to the same end."""
    chance = random.Random(2)
    load = QueueLoad.fill(world, COUNT, seed=2)
    kills = 0
    while not load.is_done():
        longest_s = 0.5 if kills < KILLS else 1.5  # no machine is done with all of it before
        kills += queue_for(world, chance.uniform(0.05, longest_s) if kills < COUNT else None)
    assert kills >= KILLS
    merge(world.session(), [], everything=True)  # also cleans up after the last landing
    load.require_result()
    load.require_every_tip_verified(tmp_path / "look")


def test_two_queues_at_once(world: World, tmp_path: Path) -> None:
    """Two queues in one repository land every worker exactly once."""
    load = QueueLoad.fill(world, COUNT // 2, seed=3)
    argv = world.argv("merge", "--all")
    queues = [subprocess.Popen(argv, cwd=world.root, stderr=subprocess.DEVNULL) for _ in range(2)]
    for queue in queues:
        queue.wait(300)
    load.require_result()
    load.require_every_tip_verified(tmp_path / "look")
    landings = world.query("SELECT worker_id FROM landings ORDER BY worker_id")
    assert landings == [(name,) for name in sorted(load.good)]


@pytest.mark.parametrize("killed", [False, True])
def test_many_land_on_a_busy_remote(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    """While another clone pushes at random, the same workers land and no commit is lost."""
    monkeypatch.setenv("GITWORKER_MERGE_REMOTE", "origin")
    bare, clone = tmp_path / "bare.git", tmp_path / "clone"
    Repo(tmp_path).git("clone", "-q", "--bare", str(world.root), str(bare))
    Repo(bare).git("config", "receive.denyNonFastForwards", "true")
    Repo(bare).git("config", "receive.denyDeletes", "true")
    world.git("remote", "add", "origin", str(bare))
    world.git("fetch", "-q", "origin")
    Repo(tmp_path).git("clone", "-q", str(bare), str(clone))
    chance = random.Random(4)
    load = QueueLoad.fill(world, COUNT // 2, seed=4)
    pusher = Pusher(clone)
    with pusher:
        kills = 0
        while not load.is_done():
            kills += queue_for(
                world, chance.uniform(0.2, 2.5) if killed and kills < COUNT else None
            )
    merge(world.session(), [], everything=True)
    load.require_result()
    assert pusher.pushed > 0
    world.git("fetch", "-q", "origin")
    assert world.tip("origin/main") == Repo(bare).git("rev-parse", "main")
    for oid in pusher.commits:
        world.git("merge-base", "--is-ancestor", oid, "origin/main")
    for name in load.good:
        assert Repo(bare).git("show", f"main:load/{name}") == name
    assert world.git("merge-base", "main", "origin/main") == world.tip("main")


def queue_for(world: World, seconds: float | None) -> int:
    """Let a queue work, kill it -9 after some time; return 1 if it was killed."""
    argv = world.argv("merge", "--all")
    with subprocess.Popen(
        argv, cwd=world.root, start_new_session=True, stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            process.wait(seconds)
            return 0
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            return 1


class Pusher:
    """Commit and push from another clone as fast as possible, until the context ends.

    On a busy machine it pauses longer, because the queue takes longer and would lose every race.
    """

    def __init__(self, clone: Path) -> None:
        self.repo = Repo(clone)
        self.commits: list[str] = []
        self.pushed = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Pusher":
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End after the push that is under way."""
        wait_until(lambda: self.pushed > 0)
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        chance = random.Random(5)
        took_s = 0.0
        while not self._stop.wait(chance.uniform(0.3, 1.5) * max(1, took_s / USUAL_PUSH_S)):
            began = time.monotonic()
            self.repo.git("pull", "-q", "--rebase", "origin", "main")
            oid = self.repo.commit(f"Theirs {self.pushed}", {f"theirs/{self.pushed}": "x\n"})
            try:
                self.repo.git("push", "-q", "origin", "HEAD:main")
            except Exception:  # noqa: BLE001 - the queue was faster
                self.repo.git("reset", "-q", "--hard", "HEAD~1")
                continue
            self.commits.append(oid)
            self.pushed += 1
            took_s = time.monotonic() - began
