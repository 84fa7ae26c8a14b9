"""A clone in which workers have lived can be deleted by its owner with `rm -rf`."""

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitworker.workers.cancel import cancel
from tests.workers.dirty_worktree import make_dirty
from tests.workers.world import World, is_at_work, wait_until, without_heartbeat_daemon

UNPRIVILEGED = 65534


@pytest.fixture
def clone() -> Iterator[World]:
    """Return a repository at a place that every user can reach."""
    given = Path(tempfile.gettempdir()).resolve()
    is_open = all(one.stat().st_mode & stat.S_IXOTH for one in (given, *given.parents))
    place = Path(tempfile.mkdtemp(prefix="gitworker-clone-", dir=given if is_open else "/var/tmp"))
    place.chmod(0o755)
    with without_heartbeat_daemon(World.make(place / "clone")):
        yield World(place / "clone")
    shutil.rmtree(place)


def spawned(world: World) -> None:
    """Only spawn a worker."""
    world.spawn("auth", "login")


def removed(world: World) -> None:
    """Cancel a worker with work and land another, so that there is a trash."""
    make_dirty(world, world.working("auth", "login", {"a": "1\n"}))
    cancel(world.session(), "auth")
    world.approved("docs", "words", {"d": "1\n"})
    world.land("docs")


def reinstalled(world: World) -> None:
    """Let another program write into our hook directory, and let a sweep move its file aside."""
    world.spawn("auth", "login")
    (world.state_dir / "hooks" / "commit-msg").write_text("#!/bin/sh\n")
    world.drive("sweep")
    world.spawn("docs", "words")


@pytest.mark.parametrize("live", [spawned, removed, reinstalled])
def test_an_ordinary_user_deletes_a_clone(clone: World, live: Callable[[World], None]) -> None:
    """`rm -rf` of a clone works for its owner without root rights."""
    live(clone)
    wait_until(lambda: not is_at_work(clone.root))
    command = ["rm", "-rf", "--", str(clone.root)]
    user = None
    if os.geteuid() == 0:
        user = UNPRIVILEGED
        for path in (clone.root.parent, clone.root, *clone.root.rglob("*")):
            os.chown(path, UNPRIVILEGED, UNPRIVILEGED, follow_symlinks=False)
    done = subprocess.run(command, check=False, capture_output=True, text=True, user=user)
    assert (done.returncode, done.stderr) == (0, "")
    assert not clone.root.exists()
