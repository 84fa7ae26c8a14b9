"""Split indexes whose shared files expire early: nothing of ours makes git lose one."""

import os
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.journal.undo.undo import undo
from gitworker.repo.pool.parked import list_parked
from gitworker.workers.cancel import cancel
from gitworker.workers.sync import sync
from gitworker.worktrees.pool.hand_out import open_pool
from gitworker.worktrees.pool.keep_ready import keep_pool
from tests.kinds.builders import git_version
from tests.landing.test_merge_cleanup import trashed
from tests.workers.world import World, wait_until

SPLIT = ("core.splitIndex=true", "splitIndex.sharedIndexExpire=now")
EARLY = {
    "expired at once": SPLIT,
    "always a new shared file": (*SPLIT, "splitIndex.maxPercentChange=0"),
    "one shared file for ever": (*SPLIT, "splitIndex.maxPercentChange=100"),
    "version 4 without checksum": (*SPLIT, "feature.manyFiles=true", "index.skipHash=true"),
    "untracked cache": (*SPLIT, "core.untrackedCache=true"),
}


@pytest.fixture(params=EARLY)
def split(world: World, request: pytest.FixtureRequest) -> World:
    """A world whose indexes are split and whose shared files expire early."""
    if "index.skipHash=true" in EARLY[request.param] and git_version() >= (2, 40):
        pytest.skip("this git names the shared file of every index without checksum alike")
    for setting in EARLY[request.param]:
        world.git("config", "--global", *setting.split("=", 1))
    world.git("update-index", "--split-index")
    return world


def divide(place: Path) -> set[Path]:
    """Split a checkout's index, the shared file old; return its shared files."""
    Repo(place).git("update-index", "--split-index")
    shared = shared_files(place)
    assert shared
    for path in shared:
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return shared


def shared_files(place: Path) -> set[Path]:
    """Return the shared index files of a checkout."""
    return set(Path(Repo(place).git("rev-parse", "--absolute-git-dir")).glob("sharedindex.*"))


def make_flagged(place: Path) -> None:
    """Leave uncommitted work of each kind, one file behind a flag of the index."""
    Repo(place).write({"README": "mine\n", "new": "untracked\n", "src/app.py": "hidden\n"})
    Repo(place).git("update-index", "--assume-unchanged", "src/app.py")


def require_readable(world: World) -> None:
    """Fail if git cannot read the index of some checkout."""
    for place in (str(world.root), *world.worktrees()):
        world.git("status", "--porcelain", cwd=place)
        world.git("ls-files", "--stage", cwd=place)


def test_cancel_and_undo(split: World) -> None:
    """A snapshot of uncommitted work leaves every shared file, and undo brings the index back."""
    place = split.working("auth", "login", {"a": "1\n"})
    make_flagged(place)
    divide(place)
    mine = divide(split.root)
    cancel(split.session(), "auth")
    assert shared_files(split.root) == mine
    assert split.show("src/app.py", "refs/worker/rescue/auth/login/1") == "hidden"
    undo(split.session())
    require_readable(split)
    assert {path.name for path in place.iterdir()} >= {"README", "new"}
    assert (place / "README").read_text() == "mine\n"


def test_a_kept_worktree(split: World) -> None:
    """Looking for hidden changes leaves a worktree's own shared file alone."""
    place = split.approved("auth", "login", {"a": "1\n"})
    make_flagged(place)
    shared = divide(place)
    split.land("auth", keep=True)
    assert shared_files(place) >= shared
    require_readable(split)


def test_approve_sync_merge_and_undo(split: World) -> None:
    """Moves of checkouts, forward and back, leave indexes that git can read."""
    place = split.in_review("auth", "login", {"a": "1\n"})
    split.advance({"README": "theirs\n"})
    divide(place)
    split.approve("auth")
    require_readable(split)
    divide(place)
    undo(split.session())
    require_readable(split)
    divide(place)
    sync(split.session(place))
    require_readable(split)
    split.approve("auth")
    divide(place)
    divide(split.root)
    split.land("auth")
    require_readable(split)
    divide(split.root)
    undo(split.session())
    require_readable(split)
    assert split.git("status", "--porcelain", cwd=place) == ""
    assert split.git("status", "--porcelain") == ""


def test_a_clean_worktree_is_deleted(split: World) -> None:
    """A landed worktree with a split index is recognised as clean; others keep their files."""
    place = split.approved("auth", "login", {"a": "1\n"})
    divide(place)
    split.spawn("web", "page")
    theirs, mine = divide(split.path("web")), divide(split.root)
    split.land("auth")
    wait_until(lambda: trashed(split) == [])
    assert shared_files(split.path("web")) == theirs
    require_readable(split)
    assert mine  # the landing itself moved the main checkout, by the user's own git


def test_a_parked_worktree(split: World) -> None:
    """The pool's looks leave the parked index whole, so that a spawn can take it."""
    split.git("config", "worker.worktree.pool", "1")
    keep_pool(split.session())
    (parked,) = list_parked(open_pool(split.session()))
    divide(Path(parked.tree))
    split.advance({"README": "theirs\n"})
    keep_pool(split.session())
    split.spawn("auth", "login")
    assert (split.path("auth") / "README").read_text() == "theirs\n"
    require_readable(split)
