"""A worktree that a killed git left half made: ours is deleted, all others stay."""

import fcntl
import os
import subprocess
from pathlib import Path

import pytest

from gitworker.repo.plumbing.repository_lock import hold
from gitworker.verify.verify_worktree import take_slot, verify_root
from gitworker.worktrees.pool.half_made import drop_half_made
from gitworker.worktrees.pool.hand_out import pool_root
from tests.workers.world import World


def plant(world: World, place: str, name: str = "1", *, lock: str = "initializing\n") -> Path:
    """Leave the files of a `git worktree add` that was killed before its HEAD names an object."""
    admin = world.root / ".git/worktrees" / name
    admin.mkdir(parents=True)
    Path(place).mkdir(parents=True)
    (Path(place) / ".git").write_text(f"gitdir: {admin}\n")
    (admin / "locked").write_text(lock)
    (admin / "gitdir").write_text(f"{place}/.git\n")
    (admin / "commondir").write_text("../..\n")
    (admin / "HEAD").write_text(f"{'0' * 40}\n")
    return admin


def rev_list(world: World) -> int:
    """Return the status of the user's `git rev-list --all`."""
    return int(world.git("-c", "alias.x=!git rev-list --all >/dev/null 2>&1; echo $?", "x"))


def slot_of(world: World) -> str:
    """Return the path of the first verify worktree, whose lock file exists."""
    session = world.session()
    take_slot(session).release()
    return f"{verify_root(session)}/1"


def test_of_verify(world: World) -> None:
    """A verify worktree that no process is making is deleted, with its directory."""
    place = slot_of(world)
    admin = plant(world, place)
    assert rev_list(world) != 0
    drop_half_made(world.session())
    assert not admin.exists()
    assert not os.path.lexists(place)
    assert rev_list(world) == 0


def test_of_verify_at_work(world: World) -> None:
    """A verify worktree whose slot is in use stays, since another process may be making it."""
    admin = plant(world, slot_of(world))
    with open(f"{world.state_dir}/verify/1.lock", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        drop_half_made(world.session())
    assert admin.exists()


def test_of_the_pool(world: World) -> None:
    """A parked worktree is removed from git's list, unless a command holds the worktree lock."""
    session = world.session()
    admin = plant(world, f"{pool_root(session)}/.making-1234/tree", "tree")
    with hold(session.worktree_lock, name="worktree"):
        drop_half_made(session)
        assert admin.exists()
    drop_half_made(session)
    assert not admin.exists()
    assert rev_list(world) == 0


@pytest.mark.parametrize("lock", ["initializing\n", "mine\n"])
def test_of_others(world: World, tmp_path: Path, lock: str) -> None:
    """A worktree outside our directories stays, half made or locked by its user."""
    admin = plant(world, str(tmp_path / "elsewhere"), lock=lock)
    drop_half_made(world.session())
    assert admin.exists()


def test_the_command(world: World) -> None:
    """`git worker recover` does it although no operation is open."""
    admin = plant(world, slot_of(world))
    done = subprocess.run(["git-worker", "recover"], cwd=world.root, check=False)
    assert done.returncode == 0
    assert not admin.exists()
