"""The job that keeps the pool, killed at every point: the next one leaves all in order."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.repo.pool.parked import list_names, list_parked
from gitworker.worktrees.pool.hand_out import RETURNING, open_pool
from gitworker.worktrees.pool.keep_ready import keep_pool
from tests.workers.world import World, is_at_work, wait_until

KILLED = -9
SCALE = int(os.environ.get("GITWORKER_TEST_SCALE", "1"))


def kill_at(world: World, point: str) -> None:
    """Run the job until it dies at a point."""
    done = world.drive("keep_pool", GITWORKER_CRASH_AT=point)
    assert done.returncode == KILLED, (done.stdout, done.stderr)


def require_kept(world: World, *, size: int) -> None:
    """Run the job again; fail the test unless the pool is full and has no other remains."""
    keep_pool(world.session())
    pool = open_pool(world.session())
    assert [one.commit for one in list_parked(pool)] == [world.tip()] * size
    wait_until(lambda: len(list_names(pool)) == size)  # the half-made worktrees are being deleted
    assert world.worktrees() == []
    for number in range(size):
        place = world.spawn(f"w{number}", f"t{number}").path
        assert world.git("status", "--porcelain", cwd=place) == ""
    assert list_parked(pool) == []


@pytest.mark.parametrize("point", ["pool.listed", "pool.added", "pool.recorded"])
def test_making(world: World, point: str) -> None:
    """A worktree whose creation was killed is created again."""
    world.git("config", "worker.worktree.pool", "1")
    kill_at(world, point)
    require_kept(world, size=1)


@pytest.mark.parametrize("point", ["pool.advanced", "pool.recorded"])
def test_advancing(world: World, point: str) -> None:
    """A worktree whose update was killed is replaced and kept in the trash."""
    world.git("config", "worker.worktree.pool", "1")
    keep_pool(world.session())
    (one,) = list_parked(open_pool(world.session()))
    Repo(Path(one.tree)).write({"x.o": "cache"})
    world.advance({"new": "1\n"})
    kill_at(world, point)
    require_kept(world, size=1)
    assert [path.read_text() for path in trash_of(world).rglob("x.o")] == ["cache"]


@pytest.mark.parametrize("point", ["pool.listed", "pool.returned", "pool.recorded"])
def test_returning(world: World, point: str) -> None:
    """A landed worktree that was coming back is in the trash, ignored files and all."""
    place = world.approved("bob", "t-bob", {"bob": "1\n"})
    Repo(place).write({"x.o": "cache"})
    world.land("bob")
    (cache,) = trash_of(world).rglob("x.o")
    wait_until(lambda: (cache.parents[1] / "landed").exists())
    (cache.parents[1] / RETURNING).write_text((cache.parents[1] / "landed").read_text())
    world.git("config", "worker.worktree.pool", "1")
    kill_at(world, point)
    require_kept(world, size=1)
    assert [path.read_text() for path in trash_of(world).rglob("x.o")] == ["cache"]


POINTS = [
    "", "spawn.journal", "pool.taken", "pool.switched", "pool.moved", "pool.handed",
    "spawn.worktree", "spawn.hooks", "spawn.recorded",
]  # fmt: skip
KEEPING = ["", "pool.listed", "pool.added", "pool.recorded", "pool.advanced"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3 * SCALE))
def test_all_at_once(world: World, seed: int) -> None:
    """Spawns and the job die in parallel while the target moves, and the remains are in order."""
    dice = random.Random(seed)
    world.git("config", "worker.worktree.pool", "2")
    for round_ in range(4):
        words = [("spawn", f"w{round_}{number}", f"t{round_}{number}") for number in range(3)]
        running = [
            start(world, *spawn, point=dice.choice(POINTS if spawn[1:] else KEEPING))
            for spawn in (*words, ("keep_pool",), ("keep_pool",))
        ]
        world.advance({f"file{round_}": "x\n"})
        statuses = [process.wait(120) for process in running]
        assert set(statuses) <= {0, KILLED}, statuses
    wait_until(lambda: not is_at_work(world.root))  # a git that one of the dead has started
    assert world.drive("recover_all").returncode == 0
    keep_pool(world.session())
    workers = world.query("SELECT worker_id, state, worktree FROM workers")
    assert {state for _, state, _ in workers} <= {"ASSIGNED"}
    assert sorted(world.worktrees()) == sorted(place for _, _, place in workers)
    for worker, _, place in workers:
        assert world.git("status", "--porcelain", cwd=place) == ""
        assert world.git("symbolic-ref", "HEAD", cwd=place).startswith(f"refs/heads/{worker}/")
    pool = open_pool(world.session())
    assert [one.commit for one in list_parked(pool)] == [world.tip()] * 2
    wait_until(lambda: len(list_names(pool)) == 2)


def start(world: World, *words: str, point: str) -> "subprocess.Popen[bytes]":
    """Start a use case that dies at a point, if it reaches that point."""
    return subprocess.Popen(
        world.argv(*words), cwd=world.root, env={**os.environ, "GITWORKER_CRASH_AT": point},
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


def trash_of(world: World) -> Path:
    """Return the trash after its pending deletions have ended."""
    wait_until(lambda: not is_at_work(world.root))
    return world.root / "worktrees" / ".trash"
