"""Uncommitted files that an approval or a landing leaves out, and the place that keeps them."""

from fixtures.repos import Repo
from gitworker.model.outcome import LeftOut
from gitworker.service.land import land
from gitworker.service.results import approval_json, landed_json
from tests.workers.world import World

FILES = ("README", "new/", "staged")


def dirty(world: World, worker: str = "auth") -> None:
    """Leave a changed, a staged and an untracked file, and an ignored one."""
    place = world.path(worker)
    Repo(place).write({"README": "mine\n", "staged": "1\n", "new/deep": "1\n", "x.o": "ignored"})
    world.git("add", "staged", cwd=place)


def test_a_clean_worktree(world: World) -> None:
    """Nothing is left out if everything is committed."""
    world.in_review("auth", "login", {"a": "1\n"})
    done = world.approve("auth")
    assert done.left_out is None
    assert approval_json(done)["left_out"] == []
    landed = world.land("auth")
    assert (landed.left_out, landed_json(landed)["left_out_in"]) == (None, None)


def test_approve_names_uncommitted_files(world: World) -> None:
    """An approval names the files that are not part of it; they stay in the worktree."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    dirty(world)
    done = world.approve("auth")
    assert done.left_out == LeftOut(FILES, str(place))
    assert approval_json(done)["left_out_in"] == str(place)


def test_merge_names_the_rescue_ref(world: World) -> None:
    """A landing names the files that did not land, and the rescue ref that keeps them."""
    world.approved("auth", "login", {"a": "1\n"})
    dirty(world)
    landed = world.land("auth")
    assert landed.left_out is not None
    assert landed.left_out.files == ("README", "new/deep", "staged")
    assert world.show("new/deep", landed.left_out.kept_in) == "1"
    assert landed_json(landed)["left_out"] == ["README", "new/deep", "staged"]


def test_a_kept_worktree_keeps_them(world: World) -> None:
    """If the worktree is kept, its files stay there."""
    place = world.approved("auth", "login", {"a": "1\n"})
    dirty(world)
    world.git("worktree", "unlock", str(place))  # as the agent had it locked
    world.git("worktree", "lock", str(place))
    assert world.land("auth").left_out == LeftOut(FILES, str(place))


def test_land_names_them_once(world: World) -> None:
    """`land` names the files with the rescue ref of the landing."""
    world.in_review("auth", "login", {"a": "1\n"})
    dirty(world)
    (landed,) = land(world.session(), ["auth"])
    assert landed_json(landed)["left_out_in"].startswith("refs/worker/rescue/auth/login/")


def test_a_landed_worktree_with_ignored_files(world: World) -> None:
    """Ignored files are not named: they are in no commit and no rescue ref."""
    world.approved("auth", "login", {"a": "1\n"})
    Repo(world.path("auth")).write({"x.o": "ignored"})
    assert world.land("auth").left_out is None
