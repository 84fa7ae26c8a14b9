"""Every verb on a disk that is really full: it names cause and file, and works afterwards."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.crash.inventory import Inventory, take
from tests.crash.operations import Operation
from tests.faults.harness import plainly
from tests.faults.operations import EVERY, ONCE, spared
from tests.faults.oracle import require_recovered
from tests.store.disks import fill, small_disk, use_inodes
from tests.workers.world import World, is_at_work, wait_until, without_heartbeat_daemon

pytestmark = [pytest.mark.slow, pytest.mark.faults]
IS_LONG = float(os.environ.get("GITWORKER_TEST_SCALE", "1")) > 1
# The free space when the command starts: none, or enough for its first steps.
FREE_KIB = (0, 8, 24, 48, 96, 160)
FREE_INODES = (0, 1, 2, 4, 8, 16)
SPARE_INODES = 200
CAUSES = ("No space left on device", "Out of diskspace", "disk is full", "must stay free")
# git removes a worktree that it could not populate: then there is space again, and no reason known.
UNEXPLAINED = "unable to write file"
SPARE_KIB = 1024

Prepare = Callable[[Operation], World]


def cases(operations: Sequence[Operation], free: Sequence[int]) -> list[Any]:
    """Return each operation with each amount of free space, or in a short run with one of them."""
    return [
        pytest.param(operation, amount, id=f"{operation.name}-{amount}")
        for number, operation in enumerate(operations)
        for amount in (free if IS_LONG else free[number % len(free) :][:1])
    ]


@contextlib.contextmanager
def on_small_disk(world: World, *, spare_inodes: int | None = None) -> Iterator[Path]:
    """Put the repository on a disk of its own, at its place, with some space or inodes left."""
    aside = world.root.with_name("aside")
    wait_until(lambda: not is_at_work(world.root))
    shutil.rmtree(aside, ignore_errors=True)
    world.root.rename(aside)
    files = list(aside.rglob("*"))
    used = sum(path.lstat().st_size + 4096 for path in files)
    spare = SPARE_KIB if spare_inodes is None else 4 * SPARE_KIB
    inodes = None if spare_inodes is None else len(files) + spare_inodes
    with small_disk(world.root, size_kib=used // 1024 + spare, inodes=inodes) as disk:
        shutil.copytree(aside, disk, symlinks=True, dirs_exist_ok=True)
        with without_heartbeat_daemon(
            world
        ):  # the lock that the preparation holds is on the other disk
            yield disk


@pytest.mark.parametrize(("operation", "free_kib"), cases(EVERY, FREE_KIB))
def test_a_full_disk(prepared: Prepare, operation: Operation, free_kib: int) -> None:
    """A command fails with the cause and a file, loses nothing, and the next one succeeds."""
    world = prepared(operation)
    with on_small_disk(world) as disk:
        before = spared(operation, take(world))
        filler = fill(disk / ".git" if (disk / ".git").is_dir() else disk)
        os.truncate(filler, filler.stat().st_size - free_kib * 1024)
        require_refused_and_repeated(world, operation, before, free=filler.unlink)


@pytest.mark.parametrize(("operation", "free"), cases(EVERY, FREE_INODES))
def test_no_inodes_left(prepared: Prepare, operation: Operation, free: int) -> None:
    """The same on a disk with enough space that cannot hold one more file."""
    world = prepared(operation)
    with on_small_disk(world, spare_inodes=SPARE_INODES) as disk:
        before = spared(operation, take(world))
        used = use_inodes(disk / ".git" if (disk / ".git").is_dir() else disk, free=free)
        require_refused_and_repeated(world, operation, before, free=lambda: shutil.rmtree(used))


def require_refused_and_repeated(
    world: World, operation: Operation, before: Inventory, *, free: Callable[[], object]
) -> None:
    """Run an operation; it succeeds or names the cause, and after `free` nothing is missing."""
    done = plainly(world, *operation.words, cwd=operation.directory(world))
    wait_until(lambda: not is_at_work(world.root))
    free()
    try:
        stops_open = (3,) if operation.inside else ()  # a rebase can stop in the middle
        assert done.status in (0, 1, *stops_open), (done.status, done.err)
        if done.status and UNEXPLAINED not in done.err:
            assert any(cause in done.err for cause in CAUSES), done.err
            assert str(world.root) in done.err, done.err
        require_recovered(world, operation, before, again=operation.name not in ONCE)
    except AssertionError as error:
        raise AssertionError(f"{operation.name}:\n{done.err}") from error
