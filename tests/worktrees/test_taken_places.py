"""Worktrees that were moved, and places that are taken."""

from pathlib import Path

from fixtures.repos import Repo
from gitworker.journal.settle import settle
from gitworker.lifecycle.fail import fail
from tests.workers.world import World, unchanged


def test_moved_worktree_is_followed(world: World) -> None:
    """A worktree that its user moved with git is found at its new place by the next command."""
    place = world.working("auth", "login", {"a": "1\n"})
    elsewhere = world.root.parent / "elsewhere"
    world.git("worktree", "move", "--force", "--force", str(place), str(elsewhere))
    settle(world.session())
    assert world.worker("auth").worktree == str(elsewhere)
    world.submit("auth")
    world.approve("auth")
    world.land("auth")
    assert not elsewhere.exists()


def test_removed_worktree_is_remembered(world: World) -> None:
    """A worktree that was deleted leaves its row unchanged."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("worktree", "remove", "--force", "--force", str(place))
    settle(world.session())
    assert world.worker("auth").worktree == str(place)


def test_settling_repairs(world: World) -> None:
    """The operation of a killed command is settled before the next one starts."""
    assert world.drive("spawn", "auth", "login", GITWORKER_CRASH_AT="spawn.hooks").returncode == -9
    assert [operation.kind for operation in settle(world.session())[0].ended] == ["spawn"]
    assert settle(world.session())[0].ended == []
    assert world.worktrees() == []


def test_both_places_are_taken(world: World) -> None:
    """If the directory beside it exists too, nothing is moved."""
    place = world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="stuck")
    Repo(world.root).write({"worktrees/login@auth/mine": "precious"})
    with unchanged(world, "path_exists"):
        world.spawn("docs", "login")
    assert Path(place, "a").read_text() == "1\n"


def test_garbage_for_a_place(world: World) -> None:
    """Bytes that are no path, in git's own file of a moved worktree, stop no command."""
    place = world.working("auth", "login", {"a": "1\n"})
    admin = Path(world.git("rev-parse", "--absolute-git-dir", cwd=place))
    place.rename(f"{place}.gone")
    (admin / "gitdir").write_bytes(b"a\0b\n")
    settle(world.session())
    assert world.worker("auth").worktree == str(place)


def test_moved_repository_is_followed(world: World) -> None:
    """If the repository was moved and git repaired it, rows and hooks lead to the new place."""
    world.working("auth", "login", {"a": "1\n"})
    elsewhere = World(world.root.parent / "elsewhere")
    world.root.rename(elsewhere.root)
    place = elsewhere.root / "worktrees" / "login"
    elsewhere.git("worktree", "repair", str(place))
    settle(elsewhere.session())
    assert elsewhere.worker("auth").worktree == str(place)
    assert elsewhere.worker("auth").admin_dir == f"{elsewhere.root}/.git/worktrees/login"
    state = f"{elsewhere.root}/.git/worker-state"
    assert f"={state}/hooks" in elsewhere.git("config", "--worktree", "--list", cwd=place)
    assert f"'{elsewhere.root}/.git'" in Path(state, "hooks", "gitworker.sh").read_text()
    elsewhere.root.rename(world.root)
    world.git("worktree", "repair", str(world.root / "worktrees" / "login"))
    settle(world.session())
    assert world.worker("auth").admin_dir == f"{world.root}/.git/worktrees/login"
