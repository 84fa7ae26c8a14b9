"""spawn --from a rescue ref: commits of a user become commits, everything else uncommitted work."""

from collections.abc import Callable

import pytest

from fixtures.repos import Repo
from tests.cli.kit import ok, run
from tests.workers.dirty_worktree import make_dirty
from tests.workers.world import World


def rescue_of_cancel(world: World) -> str:
    """Cancel the worker and return the rescue ref."""
    words = ok(world.root, "cancel", "auth").split()
    return next(word for word in words if word.startswith("refs/worker/rescue/auth/"))


@pytest.mark.parametrize("verb", ["spawn", "assign"])
def test_uncommitted_work_comes_back(world: World, verb: str) -> None:
    """Staged, changed and untracked files are as they were; the branch has the user's commits."""
    place = world.working("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    make_dirty(world, place)
    before = world.git("status", "--porcelain", cwd=place)
    name = rescue_of_cancel(world)
    worker = "auth" if verb == "assign" else "ui"
    new = ok(world.root, verb, worker, "again", "--from", name)
    assert world.tip(f"{worker}/again") == tip
    assert world.git("status", "--porcelain", cwd=new) == before
    assert "gitworker:" not in world.git("log", "--format=%s", f"{worker}/again")
    assert ok(world.root, "fsck").endswith("no findings")
    assert run(world.root, "spawn", "docs", "d", "--from", tip).status == 0  # a user's commit
    assert world.git("status", "--porcelain", cwd=world.path("docs")) == ""


def conflict(world: World) -> None:
    """Stop a rebase at a conflict."""
    place = world.working("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    assert run(place, "sync").status == 3
    Repo(place).write({"new": "mine\n"})


def stopped_rebase(world: World) -> None:
    """Resolve a conflict, commit it, and leave the rebase open."""
    conflict(world)
    place = world.path("auth")
    Repo(place).write({"README": "both\n"})
    world.git("add", "README", cwd=place)


@pytest.mark.parametrize("prepare", [conflict, stopped_rebase])
def test_an_open_rebase_comes_back_as_files(world: World, prepare: Callable[[World], None]) -> None:
    """The work of an open rebase comes back as files on the branch's own commits."""
    prepare(world)
    tip = world.tip("auth/login")
    mine = (world.path("auth") / "README").read_text()
    new = ok(world.root, "spawn", "ui", "form", "--from", rescue_of_cancel(world))
    assert world.tip("ui/form") == tip
    assert (world.path("ui") / "README").read_text() == mine
    assert (world.path("ui") / "new").read_text() == "mine\n"
    assert world.git("rev-list", "--count", "main..ui/form", cwd=new) == "1"
