"""A file of the project, or any other file, that has one of our names is not changed."""

import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from gitworker.errors import GitWorkerError, Refused
from gitworker.fsck.doctor import read_doctor
from gitworker.fsck.fsck import run_fsck, run_repair
from gitworker.journal.gc.gc import gc, gc_request
from gitworker.journal.undo.undo import undo
from gitworker.workers.cancel import cancel, recycle
from gitworker.workers.start import start
from gitworker.workers.worktree_hooks import uninstall_everything
from gitworker.worktrees.pool.keep_ready import empty_pool, keep_pool
from tests.workers.world import World

TRACKED = (".worker-state", "worktrees", "worktrees/.gitignore", "worktrees/.trash", ".worker.log",
           "worker-worktrees", ".worktreeinclude")  # fmt: skip
# The files that we write into a worktree, by default or by the settings of `go_through_all`.
IN_WORKTREES = (".worker.log", "node_modules", ".env", "cache/env", "cache")
IN_OUR_ROOT = ("worktrees/.gitignore", "worktrees/.trash", "worktrees/.pool",
               "worktrees/.verify", "worktrees/form", "worktrees")  # fmt: skip
KINDS = ("file", "link to a file", "link to a directory", "dangling link", "fifo", "directory")
TRACKABLE = tuple(kind for kind in KINDS if kind != "fifo")
SCALE = float(os.environ.get("GITWORKER_TEST_SCALE", "1"))


def plant(place: Path, kind: str, outside: Path) -> None:
    """Make something in a place; links lead to a user's files outside the repository."""
    outside.mkdir(exist_ok=True)
    (outside / "directory").mkdir(exist_ok=True)
    (outside / "file").write_text("precious\n")
    place.parent.mkdir(parents=True, exist_ok=True)
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
    for error in refusals:
        assert error.status in (1, 2, 3, 4), (type(error), error)
        assert error.hint, (type(error), error)


def go_through_all(world: World, outside: Path, plant_in: Callable[[Path], None]) -> None:
    """Take a branch with something in our way through every command that touches a worktree."""
    for name in ("link", "copy", "pool", "reuse"):
        values = {"link": "node_modules", "copy": "env", "pool": "1", "reuse": "true"}
        world.git("config", f"worker.worktree.{name}", values[name])
    (world.root / ".gitignore").write_text("*.o\nnode_modules\nenv\n")
    world.git("commit", "-qam", "Ignore")
    (world.root / "node_modules").mkdir()
    (world.root / "cache").mkdir()
    (world.root / "cache/env").write_text("secret\n")
    attempt(lambda: keep_pool(world.session()))
    for worker, task in (("auth", "login"), ("ui", "form")):
        world.spawn(worker, task)
        plant_in(world.path(worker))
        world.commit(worker, {worker: "1\n"})
        start(world.session(), worker, pid=os.getpid())
        world.submit(worker)
        world.approve(worker)
    cancel(world.session(), "ui")
    undo(world.session())
    attempt(lambda: world.merge("auth"))
    attempt(lambda: undo(world.session()))
    attempt(lambda: world.submit("auth"))
    attempt(lambda: world.approve("auth"))
    attempt(lambda: world.merge("auth"))
    for command in (
        lambda: keep_pool(world.session()), lambda: recycle(world.session(), "auth"),
        lambda: world.spawn("next", "from-the-pool"), lambda: cancel(world.session(), "next"),
        lambda: gc(world.session(), gc_request(world.session(), days=0)),
        lambda: run_fsck(world.session()), lambda: read_doctor(world.session()),
        lambda: run_repair(world.session()), lambda: empty_pool(world.session()),
        lambda: uninstall_everything(world.session()), lambda: world.spawn("last", "one"),
    ):  # fmt: skip
        attempt(command)
    require_untouched(outside)
    assert (world.root / "cache/env").read_text() == "secret\n"


def some(names: Sequence[str], kinds: Sequence[str]) -> list[tuple[str, str]]:
    """Return every name with two of the kinds, every kind with some of the names."""
    return [
        (name, kinds[(2 * number + step) % len(kinds)])
        for number, name in enumerate(names)
        for step in range(len(kinds) if SCALE > 1 else 2)
    ]


@pytest.mark.parametrize(("name", "kind"), some(IN_WORKTREES, KINDS))
def test_tracked_by_a_branch(world: World, tmp_path: Path, name: str, kind: str) -> None:
    """No command writes through a link that a branch, or its agent, has under a name of ours."""
    outside = tmp_path / "outside"

    def plant_in(place: Path) -> None:
        if (place / name).is_dir() and not (place / name).is_symlink():
            shutil.rmtree(place / name)
        (place / name).unlink(missing_ok=True)
        plant(place / name, kind, outside)
        if kind != "fifo":
            world.git("add", "-f", "--", name, cwd=place)

    go_through_all(world, outside, plant_in)


@pytest.mark.parametrize(("name", "kind"), some(IN_OUR_ROOT, TRACKABLE))
def test_landed_by_a_branch(world: World, tmp_path: Path, name: str, kind: str) -> None:
    """A branch that brings a file into our directory of the main checkout changes nothing of us."""
    outside = tmp_path / "outside"

    def plant_in(place: Path) -> None:
        plant(place / name, kind, outside)
        world.git("add", "-f", "--", name, cwd=place)

    go_through_all(world, outside, plant_in)


@pytest.mark.parametrize("kind", TRACKABLE)
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
    """A link in our directory under a name that we need is never written through."""
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
    """`cancel` refuses, names the path to clear, and works once that is done."""
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


@pytest.mark.parametrize("name", ["sub/.gitignore", ".gitattributes", "sub/a/.gitattributes"])
def test_a_fifo_blocks_no_command(world: World, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A FIFO that git would wait for in one worktree blocks no landing and names the way out."""
    monkeypatch.setattr("gitworker.proc.SILENCE_MS", 500)
    place = world.approved("auth", "login", {"a": "1\n", "sub/a/x": "1\n"})
    world.approved("ui", "form", {"ui": "1\n"})
    (place / name).parent.mkdir(exist_ok=True)
    os.mkfifo(place / name)
    for changed in ("a", "sub/a/x"):  # git must read these files, and so their attributes
        os.utime(place / changed, ns=(0, 0))
    assert len(world.merge("auth", "ui")) == 2
    assert world.show("ui") == world.show("a") == "1"
    assert place.is_dir()
    world.working("late", "more", {"l": "1\n"})
    (world.path("late") / "new").mkdir()
    os.mkfifo(world.path("late") / "new/.gitignore")
    with pytest.raises(GitWorkerError) as caught:
        cancel(world.session(), "late")
    assert caught.value.hint == f"rm {world.path('late')}/new/.gitignore"
    (world.path("late") / "new/.gitignore").unlink()
    cancel(world.session(), "late")
