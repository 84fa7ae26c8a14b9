"""Files that were only touched: their bytes are the commit's, so they stop no command."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Conflict
from gitworker.journal.recover import recover_all
from gitworker.journal.undo.undo import undo
from gitworker.workers.cancel import cancel
from gitworker.workers.sync import sync
from tests.workers.world import World


def touch(path: Path) -> None:
    """Give a file another modification time."""
    os.utime(path, (1_000_000_000, 1_000_000_000))


def copy(path: Path) -> None:
    """Replace a file by a copy of itself: another inode."""
    shutil.copyfile(path, f"{path}.copy")
    os.replace(f"{path}.copy", path)


def rewrite(path: Path) -> None:
    """Write a file's own bytes again, as a formatter does."""
    path.write_bytes(path.read_bytes())
    os.utime(path, (2_000_000_000, 2_000_000_000))


Disturb = Callable[[Path], None]
WAYS = pytest.mark.parametrize("disturb", [touch, copy, rewrite])


def every_file(place: Path, disturb: Disturb) -> None:
    """Disturb all tracked files of a checkout."""
    for name in Repo(place).git("ls-files").splitlines():
        disturb(place / name)


@WAYS
def test_approve_follows(world: World, disturb: Disturb) -> None:
    """The worktree follows the replayed commits when its files were only touched."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"README": "theirs\n"})
    every_file(place, disturb)
    world.approve("auth")
    assert (place / "README").read_text() == "theirs\n"
    assert world.git("status", "--porcelain", cwd=place) == ""


@WAYS
def test_undo_of_an_approval(world: World, disturb: Disturb) -> None:
    """An approval is taken back when the files of the worktree were only touched."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"README": "theirs\n"})
    world.approve("auth")
    every_file(place, disturb)
    undo(world.session())
    assert (place / "README").read_text() == "one\ntwo\nthree\n"
    assert world.git("status", "--porcelain", cwd=place) == ""


@WAYS
def test_a_landing_and_its_undo(world: World, disturb: Disturb) -> None:
    """A landing and its undo move the main checkout when its files were only touched."""
    place = world.approved("auth", "login", {"a": "1\n", "README": "landed\n"})
    every_file(place, disturb)
    every_file(world.root, disturb)
    world.land("auth")
    assert (world.root / "README").read_text() == "landed\n"
    every_file(world.root, disturb)
    undo(world.session())
    assert (world.root / "README").read_text() == "one\ntwo\nthree\n"
    assert world.git("status", "--porcelain") == ""


@WAYS
def test_a_landing_that_keeps_its_worktree(world: World, disturb: Disturb) -> None:
    """A kept worktree follows the landed commits when its files were only touched."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.advance({"README": "theirs\n"})
    every_file(place, disturb)
    world.land("auth", keep=True)
    assert (place / "README").read_text() == "theirs\n"
    assert world.git("status", "--porcelain", cwd=place) == ""


@WAYS
def test_sync(world: World, disturb: Disturb) -> None:
    """sync rebases a worktree whose files were only touched."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.advance({"README": "theirs\n"})
    every_file(place, disturb)
    sync(world.session(place))
    assert (place / "README").read_text() == "theirs\n"


@WAYS
def test_cancel_and_undo(world: World, disturb: Disturb) -> None:
    """A cancelled worktree whose files were only touched is restored, then follows the target."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"README": "theirs\n"})
    every_file(place, disturb)
    cancel(world.session(), "auth")
    undo(world.session())
    world.submit("auth")
    every_file(place, disturb)
    world.approve("auth")
    assert (place / "README").read_text() == "theirs\n"


@WAYS
@pytest.mark.parametrize("point", ["move-ref", "move-copied"])
def test_recovery(world: World, disturb: Disturb, point: str) -> None:
    """A killed approval is brought to its end when the files were only touched."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"README": "theirs\n"})
    world.drive("approve", "auth", GITWORKER_CRASH_AT=point)
    every_file(place, disturb)
    recover_all(world.session())
    if world.states("auth", "login")[0] == "IN_REVIEW":
        world.approve("auth")
    assert (place / "README").read_text() == "theirs\n"
    assert world.git("status", "--porcelain", cwd=place) == ""


def test_a_real_change_is_still_in_the_way(world: World) -> None:
    """Among touched files a changed one is named, and nothing moves."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"README": "theirs\n", "src/app.py": "theirs\n"})
    every_file(place, touch)
    Repo(place).write({"README": "mine\n"})
    before = world.tip("auth/login")
    with pytest.raises(Exception, match="README") as caught:
        world.approve("auth")
    assert "src/app.py" not in str(caught.value)
    assert world.tip("auth/login") == before
    assert (place / "README").read_text() == "mine\n"
    assert (place / "src/app.py").read_text() == "print('hello')\n"


def test_a_foreign_lock_of_the_index(world: World) -> None:
    """With touched files and a foreign index lock the command names the lock; then it works."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"README": "theirs\n"})
    every_file(place, touch)
    lock = Path(Repo(place).git("rev-parse", "--path-format=absolute", "--git-path", "index.lock"))
    lock.touch()
    with pytest.raises(Conflict) as caught:
        world.approve("auth")
    assert str(lock) in caught.value.message
    lock.unlink()
    world.approve("auth")
    assert (place / "README").read_text() == "theirs\n"
