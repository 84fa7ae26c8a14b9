"""A worker comes back to a machine that has lost its worktree there."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.repos import Repo
from tests.cli.kit import ok, run
from tests.fleet.test_hints import add_remote, join, move_worker
from tests.hints.following import note
from tests.store.machines import Machine
from tests.workers.world import World


@pytest.fixture
def machine(world: World) -> Iterator[Machine]:
    """The repository as a machine, whose link ends with the test."""
    world.session()
    made = Machine(world.state_dir)
    yield made
    made.kill_link()


@pytest.fixture
def deleted(world: World, machine: Machine, location: str, tmp_path: Path) -> Path:
    """The place of a worktree with staged work, deleted after another machine took over.

    That one has pushed a commit since.
    """
    join(world, location)
    world.spawn("auth", "login")
    remote = add_remote(world, tmp_path)
    world.git("push", "-q", "origin", "auth/login")
    place = world.path("auth")
    (place / "staged.txt").write_text("staged\n")
    Repo(place).git("add", "staged.txt")
    move_worker(world, location)
    world.git("clone", "-q", "-b", "auth/login", str(remote), str(tmp_path / "beta"))
    Repo(tmp_path / "beta").commit("Work of beta", {"beta.txt": "beta\n"})
    Repo(tmp_path / "beta").git("push", "-q", "origin", "auth/login")
    shutil.rmtree(place)
    return place


def test_a_worktree_that_was_deleted(world: World, deleted: Path) -> None:
    """Its worktree is made again, and the work that was staged in the old one is kept."""
    place = deleted
    assert "refs/worker/rescue/" in run(world.root, "resume", "auth").err
    assert ok(world.root, "path", "auth").strip() == str(place)
    assert Repo(place).git("status", "--porcelain") == ""
    (kept,) = world.git("for-each-ref", "--format=%(refname)", "refs/worker/rescue").split()
    assert world.git("show", f"{kept}:staged.txt") == "staged"
    assert (place / "beta.txt").read_text() == "beta\n"
    assert run(world.root, "fsck").status == 0


def test_a_locked_worktree_that_is_missing(world: World, deleted: Path) -> None:
    """It may be on a disk that is not mounted, so its user has to unlock it first."""
    world.git("worktree", "lock", str(deleted))
    refused = run(world.root, "resume", "auth")
    assert "is locked" in refused.err
    note(f"git worktree unlock {deleted}", refused.err)
