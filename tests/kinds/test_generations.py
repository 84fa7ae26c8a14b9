"""Repositories of earlier versions work with this version, whatever their state."""

import contextlib
import hashlib
import os
from pathlib import Path

import pytest

from fixtures.generations import GENERATIONS, list_cases, unpack
from fixtures.repos import Repo
from tests.cli.kit import ok, run
from tests.workers.world import World, without_heartbeat_daemon

OPEN = [
    (generation, case)
    for generation in GENERATIONS
    for case in list_cases(generation)
    if case.startswith("open-")
]
# The next command of a user of the old version, for a worker in each state.
NEXT = (
    ("assigned", ("start",), "WORKING"),
    ("working", ("done",), "IN_REVIEW"),
    ("review", ("approve",), "APPROVED"),
    ("review", ("reject", "-m", "again"), "WORKING"),
    ("approved", ("merge",), "COMPLETED"),
    ("failed", ("reset",), "IDLE"),
    ("stale", ("done",), "IN_REVIEW"),
    ("rejected", ("cancel",), "IDLE"),
    ("idle", ("assign", "t-next"), "ASSIGNED"),
    ("landed", ("assign", "t-next"), "ASSIGNED"),
)


@pytest.fixture(autouse=True)
def _no_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITWORKER_HOOKS", "off")


@pytest.mark.parametrize(("generation", "case"), OPEN)
def test_open_operation(tmp_path: Path, generation: str, case: str) -> None:
    """The first command settles an operation that an earlier version had left open."""
    world = World(unpack(generation, case, tmp_path))
    ((count,),) = world.query("SELECT COUNT(*) FROM operations WHERE status = 'open'")
    assert count >= 1
    commits = set(world.git("rev-list", "--all", "--reflog").splitlines())
    files = uncommitted(world)
    with without_heartbeat_daemon(world):
        assert run(world.root, "recover").status == 0
        assert world.query("SELECT kind FROM operations WHERE status = 'open'") == []
        assert commits <= set(world.git("rev-list", "--all", "--reflog").splitlines())
        lost = files - uncommitted(world)
        assert {data for data in lost if not is_object(world, data)} == set()
        assert run(world.root, "fsck", "--repair").status == 0  # the state files have other times
        assert run(world.root, "fsck").status == 0
        world.require_sound()


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize(("worker", "words", "state"), NEXT, ids=lambda value: str(value))
def test_next_command(
    tmp_path: Path, generation: str, worker: str, words: tuple[str, ...], state: str
) -> None:
    """A worker in any state of an earlier version takes its next command."""
    world = World(unpack(generation, "states", tmp_path))
    with without_heartbeat_daemon(world):
        assert run(world.root, "fsck", "--repair").status == 0  # the state files have other times
        assert run(world.root, "status", "--json").status == 0
        verb, *rest = words
        if state in ("ASSIGNED", "WORKING", "COMPLETED", "APPROVED"):
            Repo(world.root).git("status")  # a copy has other inodes than the index knows
        ok(world.root, verb, worker, *rest)
        assert world.worker(worker).state.value == state
        assert run(world.root, "fsck").status == 0
        world.require_sound()


def uncommitted(world: World) -> set[bytes]:
    """Return the content of all files, also of removed worktrees, that is in no git object."""
    found = set()
    for place, _, names in os.walk(world.root):  # a background deletion may take directories away
        for path in (Path(place, name) for name in names):
            with contextlib.suppress(FileNotFoundError):
                if path.is_file() and not path.is_symlink() and is_users(path):
                    found.add(path.read_bytes())
    return {data for data in found if not is_object(world, data)}


def is_users(path: Path) -> bool:
    """Return whether a file is a user's: not git's, not ours, not a build cache of the pool."""
    if {".git", ".pool", "admin"} & set(path.parts):
        return False
    if ".trash" in path.parts and "tree" not in path.parts:
        return False
    return path.name not in (".worker.log", "cache.o")


def is_object(world: World, data: bytes) -> bool:
    """Return whether git has a blob of these bytes."""
    name = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    return (world.root / ".git/objects" / name[:2] / name[2:]).exists()
