"""The next command completes a gc, or its undo, that was killed at any point."""

import pytest

from fixtures.repos import Repo
from gitworker.fsck.fsck import run_fsck
from gitworker.journal.undo.undo import undo
from gitworker.workers.cancel import cancel
from tests.workers.dirty_worktree import read_worktree
from tests.workers.world import World, newest

KILLED = -9
RESCUE = "refs/worker/rescue/"


def litter(world: World) -> None:
    """Leave rescue refs and a removed worktree of landed and of unlanded work."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.working("docs", "words", {"d": "1\n"})
    world.advance({"theirs": "1\n"})
    world.approve("auth")
    world.land("auth")
    cancel(world.session(), "docs")
    (world.state_dir / "logs" / "old.log").write_text("old\n")


@pytest.mark.parametrize("point", ["gc.journal", "gc.refs", "gc.disk"])
def test_a_killed_gc_is_finished(world: World, point: str) -> None:
    """Only the items that the journal names are deleted, and an undo restores the refs."""
    litter(world)
    before = world.refs()
    assert world.drive("gc", GITWORKER_CRASH_AT=point).returncode == KILLED
    assert world.drive("recover_all").stdout.strip() == "gc"
    assert [name for name in world.refs() if name.startswith(RESCUE)] == [f"{RESCUE}docs/words/1"]
    assert not (world.state_dir / "logs" / "old.log").exists()
    assert run_fsck(world.session()).findings == ()
    undo(world.session())
    assert world.refs() == before


def test_a_killed_undo_of_a_gc_is_finished(world: World) -> None:
    """The refs come back although the undo was killed."""
    litter(world)
    before = world.refs()
    assert world.drive("gc").returncode == 0
    assert world.drive("undo", GITWORKER_CRASH_AT="undo.journal").returncode == KILLED
    assert world.drive("recover_all").stdout.strip() == "undo"
    assert world.refs() == before


@pytest.mark.parametrize("point", ["undo.made", "undo.unpacked"])
def test_a_killed_undo_after_a_gc_is_finished(world: World, point: str) -> None:
    """The new worktree has its uncommitted work, whenever the kill came."""
    place = world.working("auth", "login", {"a": "1\n"})
    Repo(place).write({"README": "staged\n"}).git("add", "README")
    Repo(place).write({"README": "then changed\n", "new": "untracked\n", "a": None})
    before = read_worktree(world, place)
    cancel(world.session(), "auth")
    assert world.drive("gc").returncode == 0
    number = str(newest(world, "cancel"))
    assert world.drive("undo", number, GITWORKER_CRASH_AT=point).returncode == KILLED
    assert world.drive("recover_all").stdout.strip() == "undo"
    assert read_worktree(world, place) == before
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
