"""A worktree that the system cannot move stays a worktree, and no operation is left open."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.workers.world import World

MOUNTED = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$0" && exec "$@"')
UNPRIVILEGED = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")  # root is not then


def run(world: World, wrapper: tuple[str, ...], *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command by a wrapper; skip if the wrapper cannot run."""
    done = subprocess.run(
        [*wrapper, "git-worker", *words], cwd=world.root, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.stderr.startswith(("unshare:", "mount:", "setpriv:")):
        pytest.skip(done.stderr)
    return done


def require_whole(world: World, place: Path) -> None:
    """Fail unless the worktree works as before, and the journal has nothing open."""
    assert world.git("status", "--porcelain", cwd=place) == "?? new"
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []
    assert not list((world.root / "worktrees/.trash").glob("*auth*"))


def test_cancel(world: World) -> None:
    """Cancelling work in a mount is refused, and works once nothing is mounted there."""
    place = Path(world.spawn("auth", "login").path)
    (place / "new").write_text("untracked\n")
    done = run(world, (*MOUNTED, str(place)), "cancel", "auth")
    assert (done.returncode, "cannot be moved" in done.stderr) == (1, True), done.stderr
    require_whole(world, place)
    assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")
    assert run(world, (), "cancel", "auth").returncode == 0
    assert not place.exists()


def test_a_directory_that_cannot_be_written(world: World) -> None:
    """Cancelling is also refused if the parent directory of the worktree is read-only."""
    world.git("config", "worker.worktree.root", "../seats")
    place = Path(world.spawn("auth", "login").path)
    (place / "new").write_text("untracked\n")
    (place.parent / ".trash").mkdir()
    place.parent.chmod(0o555)
    done = run(world, UNPRIVILEGED if os.geteuid() == 0 else (), "cancel", "auth")
    place.parent.chmod(0o755)
    assert done.returncode == 1, done.stderr
    require_whole(world, place)
    assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")
