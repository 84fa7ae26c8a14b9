"""A file of the project, or anything else, that has one of our names stays as it is."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from gitworker.errors import GitWorkerError, Refused
from gitworker.workers.cancel import cancel
from gitworker.workers.start import start
from tests.workers.world import World

TRACKED = (".worker-state", "worktrees", "worktrees/.gitignore", "worktrees/.trash", ".worker.log",
           "worker-worktrees", ".worktreeinclude")  # fmt: skip
KINDS = ("file", "link to a file", "link to a directory", "dangling link", "fifo", "directory")


def plant(place: Path, kind: str, outside: Path) -> None:
    """Make something in a place; links lead to a user's files outside the repository."""
    outside.mkdir(exist_ok=True)
    (outside / "directory").mkdir(exist_ok=True)
    (outside / "file").write_text("precious\n")
    place.parent.mkdir(exist_ok=True)
    if place.is_symlink():  # our own
        place.unlink()
    if kind == "file":
        place.write_text("# precious\n")
    elif kind == "fifo":
        os.mkfifo(place)
    elif kind == "directory":
        place.mkdir()
        (place / "file").write_text("precious\n")
    else:
        ends = {"link to a file": "file", "link to a directory": "directory"}
        place.symlink_to(outside / ends.get(kind, "nowhere"))


def require_untouched(outside: Path) -> None:
    """Fail the test if anything was written through a link."""
    assert sorted(os.listdir(outside)) == ["directory", "file"]
    assert os.listdir(outside / "directory") == []
    assert (outside / "file").read_text() == "precious\n"


def attempt(command: Callable[[], object]) -> None:
    """Run a command, which may refuse, with a message that names a way out."""
    refusals: list[GitWorkerError] = []
    try:
        command()
    except GitWorkerError as error:
        refusals.append(error)
    assert all(error.status in (1, 2, 3, 4) and error.hint for error in refusals)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fifo"])
@pytest.mark.parametrize("name", TRACKED)
def test_tracked_by_the_target(world: World, tmp_path: Path, name: str, kind: str) -> None:
    """A whole life beside a tracked file of our name changes no byte of it."""
    outside = tmp_path / "outside"
    plant(world.root / name, kind, outside)
    world.git("add", "-f", "--", name)
    world.git("commit", "-q", "-m", "Ours")
    place = world.working("auth", "login", {"a": "1\n"})
    world.submit("auth")
    world.approve("auth")
    world.merge("auth")
    assert world.show("a") == "1"
    assert not place.exists()
    world.spawn("ui", "form")
    cancel(world.session(), "ui")
    require_untouched(outside)
    assert world.git("diff", "HEAD") == ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [".gitignore", ".trash", ".verify", ".pool"])
def test_in_our_way(world: World, tmp_path: Path, name: str, kind: str) -> None:
    """What lies in our directory under a name that we need is never written through."""
    outside = tmp_path / "outside"
    plant(world.root / "worktrees" / name, kind, outside)
    world.git("config", "worker.verify.commands", "true")
    if name == ".pool":
        world.git("config", "worker.worktree.pool", "1")
    attempt(lambda: world.spawn("auth", "login"))
    attempt(lambda: start(world.session(), "auth", pid=os.getpid()))
    with suppress(GitWorkerError):
        if (world.root / "worktrees" / "login").is_dir():
            world.commit("auth", {"a": "1\n"})
        world.submit("auth")
        world.approve("auth")
    attempt(lambda: world.merge("auth"))
    attempt(lambda: world.spawn("ui", "form"))
    attempt(lambda: cancel(world.session(), "ui"))
    require_untouched(outside)


@pytest.mark.parametrize("kind", ["file", "link to a directory", "fifo"])
def test_the_trash_is_taken(world: World, tmp_path: Path, kind: str) -> None:
    """`cancel` refuses, says which place to clear, and works once that is done."""
    path = world.working("auth", "login", {"a": "1\n"})
    trash = world.root / "worktrees" / ".trash"
    plant(trash, kind, tmp_path / "outside")
    with pytest.raises(Refused) as caught:
        cancel(world.session(), "auth")
    assert caught.value.code == "place_taken"
    assert caught.value.hint == f"mv {trash} {trash}.found"
    assert path.is_dir()
    trash.rename(f"{trash}.found")
    attempt(lambda: cancel(world.session(), "auth"))  # any command finishes the first one
    assert not path.exists()
    require_untouched(tmp_path / "outside")
