"""A directory that cannot be renamed (EXDEV, as on an overlay) stays, and nothing stays open."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.repo.pool.parked import list_parked
from gitworker.worktrees.pool.hand_out import RETURNING, open_pool
from gitworker.worktrees.pool.keep_ready import keep_pool
from tests.crash.inventory import require_nothing_lost, require_tidy, take
from tests.crash.operations import OPERATIONS, Operation
from tests.faults.harness import Fault, Injector, plainly
from tests.faults.operations import EVERY
from tests.workers.world import World, is_at_work, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.faults]
MOVING = ("cancel", "reset", "merge", "merge-clean", "undo-cancel")
EXDEV = Fault("EXDEV", lasts=True)


@pytest.mark.parametrize("name", MOVING)
def test_a_directory_that_cannot_be_renamed(
    prepared: Callable[[Operation], World], injector: Injector, name: str
) -> None:
    """Repeated attempts leave no operation open, and the trash does not grow."""
    operation = next(operation for operation in OPERATIONS if operation.name == name)
    world = prepared(operation)
    before, trash = take(world), world.root / "worktrees/.trash"
    entries = set(trash.glob("[!.]*"))
    for _ in range(3):
        done = injector.run(world, *operation.words, fault=EXDEV, at=1)
        assert done.status in (0, 1), done.err
        assert "Traceback" not in done.err
        assert world.query("SELECT kind FROM operations WHERE status = 'open'") == []
        assert set(trash.glob("[!.]*")) == entries
    require_nothing_lost(world, before)
    world.require_sound()


ROLLED_BACK = [
    (name, point)
    for name, points in (
        ("spawn", ("spawn.journal", "spawn.worktree", "spawn.hooks")),
        ("spawn-pool", ("pool.taken", "pool.moved", "pool.handed", "pool.switched")),
    )
    for point in points
]


@pytest.mark.parametrize(("name", "point"), ROLLED_BACK)
def test_a_spawn_that_is_rolled_back(
    prepared: Callable[[Operation], World], injector: Injector, name: str, point: str
) -> None:
    """A killed spawn is rolled back by a copy into the trash, once, and the task can be given."""
    operation = next(operation for operation in OPERATIONS if operation.name == name)
    world = prepared(operation)
    before, trash = take(world), world.root / "worktrees/.trash"
    assert world.drive(*operation.words, GITWORKER_CRASH_AT=point).returncode == -9
    counts = []
    for _ in range(2):
        done = injector.run(world, "recover", fault=EXDEV, at=1)
        assert done.status == 0, done.err
        counts.append(len(list(trash.glob("[!.]*"))))
        assert world.query("SELECT kind FROM operations WHERE status = 'open'") == []
    assert counts[0] == counts[1]
    assert plainly(world, *operation.words).status == 0
    if name == "spawn-pool":  # its job makes another worktree
        wait_until(lambda: len(list_parked(open_pool(world.session()))) == 1)
    require_nothing_lost(world, before)
    require_tidy(world, before)
    world.require_sound()


def test_a_half_made_worktree(prepared: Callable[[Operation], World], injector: Injector) -> None:
    """The remains of a git killed in `worktree add` are copied away, and the task is free."""
    operation = next(operation for operation in OPERATIONS if operation.name == "spawn")
    world = prepared(operation)
    place = f"{world.root}/worktrees/login/"
    calls = injector.run(world, *operation.words).calls
    at = next(n for n, call in enumerate(calls, 1) if call.split()[3].startswith(place)) + 1
    world = prepared(operation)
    injector.run(world, *operation.words, fault=Fault("TREE"), at=at)
    done = injector.run(world, "recover", fault=EXDEV, at=1)
    assert (done.status, done.was_hit) == (0, True), done.err
    assert plainly(world, *operation.words).status == 0
    world.require_sound()


def test_a_special_file(prepared: Callable[[Operation], World], injector: Injector) -> None:
    """A worktree that can be neither renamed nor copied stays, and the spawn is closed."""
    operation = next(operation for operation in OPERATIONS if operation.name == "spawn")
    world = prepared(operation)
    assert world.drive(*operation.words, GITWORKER_CRASH_AT="spawn.hooks").returncode == -9
    os.mkfifo(world.root / "worktrees/login/pipe")
    done = injector.run(world, "recover", fault=EXDEV, at=1)
    assert (done.status, done.was_hit) == (0, True), done.err
    assert world.query("SELECT kind FROM operations WHERE status = 'open'") == []
    assert (world.root / "worktrees/login/pipe").is_fifo()
    refused = plainly(world, *operation.words)
    assert "worktrees/login is in the way" in refused.err


def filled(world: World) -> None:
    """A pool that is wanted and empty."""
    world.git("config", "worker.worktree.pool", "1")
    world.session()


def outdated(world: World) -> None:
    """A parked worktree with a cache, behind the target."""
    filled(world)
    keep_pool(world.session())
    (one,) = list_parked(open_pool(world.session()))
    Repo(Path(one.tree)).write({"cache.o": "built"})
    world.advance({"new": "1\n"})


def touched(world: World) -> None:
    """The same, with an untracked file in it that a user has left there."""
    outdated(world)
    (one,) = list_parked(open_pool(world.session()))
    Repo(Path(one.tree)).write({"notes": "a user's"})


def returning(world: World) -> None:
    """A landed worktree with a cache, which is offered to the pool."""
    place = world.approved("bob", "t-bob", {"bob": "1\n"})
    Repo(place).write({"cache.o": "built"})
    world.land("bob")
    (cache,) = (world.root / "worktrees/.trash").rglob("cache.o")
    wait_until(lambda: (cache.parents[1] / "landed").exists())
    (cache.parents[1] / RETURNING).write_text((cache.parents[1] / "landed").read_text())
    filled(world)


POOLS = [
    Operation(f"pool-{prepare.__name__}", prepare, ("pool", "--fill"), (), ("", ""))
    for prepare in (filled, outdated, touched, returning)
]


@pytest.mark.parametrize("operation", POOLS, ids=[operation.name for operation in POOLS])
def test_the_pool(
    prepared: Callable[[Operation], World], injector: Injector, operation: Operation
) -> None:
    """The job of the pool loses nothing, does not fill the disk, and the next spawn works."""
    world = prepared(operation)
    before = take(world)
    counts = []
    for _ in range(3):
        done = injector.run(world, *operation.words, fault=EXDEV, at=1)
        assert (done.status in (0, 1), done.was_hit) == (True, True), done.err
        assert "Traceback" not in done.err
        wait_until(lambda: not is_at_work(world.root))
        counts.append(count_directories(world))
    assert counts[1] == counts[2], counts
    require_nothing_lost(world, before)
    assert plainly(world, "spawn", "new", "t-new").status == 0
    assert plainly(world, *operation.words).status == 0
    assert len(list_parked(open_pool(world.session()))) == 1
    world.require_sound()


def count_directories(world: World) -> int:
    """Return the number of directories in the pool, in the trash and on git's list."""
    root = world.root / "worktrees"
    kept = [*root.glob(".pool/*/"), *root.glob(".trash/[!.]*/")]
    return len(kept) + len(world.worktrees())


def test_gc(prepared: Callable[[Operation], World], injector: Injector) -> None:
    """gc deletes directories in place if they cannot be renamed; no undo restores half of one."""
    operation = next(operation for operation in EVERY if operation.name == "gc")
    world = prepared(operation)
    done = injector.run(world, *operation.words, fault=EXDEV, at=1)
    assert (done.status, done.was_hit) == (0, True), done.err
    trash = world.root / "worktrees/.trash"
    wait_until(lambda: not list(trash.glob("[!.]*")))
    world.require_sound()


OVERLAY = """
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$1" || exit 99
cd "$1" || exit 99
for word in 1 2; do git-worker cancel auth; echo "status $?"; done
git-worker recover
git -C worktrees/login status --porcelain
ls worktrees/.trash
"""


def test_a_real_overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an overlay whose lower layer has the worktree, cancel refuses and the worktree works."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    place = Path(world.spawn("auth", "login").path)
    (place / "new").write_text("untracked\n")
    for name in ("upper", "work"):
        (tmp_path / "layers" / name).mkdir(parents=True)
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", OVERLAY, "sh", world.root, tmp_path / "layers"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    if done.returncode == 99 or done.stderr.startswith("unshare:"):
        pytest.skip(f"no overlay can be mounted here: {done.stderr}")
    lines = done.stdout.splitlines()
    assert lines == ["status 1", "status 1", "no operation was interrupted", "?? new"], done
    assert done.stderr.count("cannot be moved into or out of the trash") == 2
