"""Room for a task's new worktree if an older one of the task cannot be moved aside."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.lifecycle.fail import fail
from tests.cli.kit import run
from tests.workers.world import World, unchanged


def retried(world: World) -> World:
    """Let a task fail whose retry comes at once; its worktree stays."""
    world.git("config", "worker.task.retry-delay-s", "0")
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no")
    return world


def lock(world: World) -> None:
    """Lock the worktree of `auth` as its user does, in the place of our lock for its agent."""
    world.git("worktree", "unlock", str(world.path("auth")))
    world.git("worktree", "lock", str(world.path("auth")))


def test_with_submodules(world: World, tmp_path: Path) -> None:
    """A worktree with submodules, which git does not move, stays; the new one is made beside it."""
    Repo.make(tmp_path / "lib").commit("Lib", {"lib.txt": "lib\n"})
    world.git(
        "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(tmp_path / "lib"), "lib"
    )
    world.git("commit", "-qm", "A submodule")
    retried(world)
    place = Path(world.spawn("bob", "login").path)
    assert place.name == "login@bob"
    assert (place / "lib/lib.txt").exists()
    assert world.path("auth").name == "login"
    assert world.git("symbolic-ref", "--short", "HEAD", cwd=world.path("auth")) == "auth/login"


def test_an_older_worktree_is_moved(world: World) -> None:
    """It keeps its uncommitted files, and the command says where it is, and names them."""
    retried(world)
    (world.path("auth") / "mine.txt").write_text("mine\n")
    (world.path("auth") / "a").write_text("2\n")
    said = run(world.root, "spawn", "bob", "login").err
    place = world.path("auth")
    assert place.name == "login@auth"
    assert (place / "mine.txt").read_text() == "mine\n"
    assert f"the worktree of auth is at {place} now, with 2 uncommitted files (a, mine.txt)" in said


def test_locked(world: World) -> None:
    """A worktree that its user locked stays in its place."""
    retried(world)
    lock(world)
    assert Path(world.spawn("bob", "login").path).name == "login@bob"
    assert world.path("auth").name == "login"


@pytest.mark.parametrize("name", ["login@auth", "login@bob"])
def test_no_room_left(world: World, name: str) -> None:
    """If a user's file is at the other place as well, nothing is moved or made."""
    retried(world)
    (world.root / "worktrees" / name).write_text("mine\n")
    if name == "login@bob":
        lock(world)
    with unchanged(world, "path_exists"):
        world.spawn("bob", "login")
