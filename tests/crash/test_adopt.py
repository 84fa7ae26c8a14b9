"""adopt, killed at every point: branch and worktree are as they were, or the worker's."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.model.ids import Ref
from gitworker.repo.worktrees.branch_rename import KeptLog
from tests.crash.inventory import require_nothing_lost, take
from tests.workers.dirty_worktree import make_dirty, read_worktree
from tests.workers.world import World

POINTS = ("adopt.journal", "adopt.renamed", "adopt.worktree", "adopt.hooks", "adopt.recorded")
KILLED = -9


def by_hand(world: World) -> Path:
    """Make a dirty worktree by hand, and a branch without one."""
    place = world.root.parent / "by-hand"
    Repo(world.root).worktree(place, "-b", "feature").commit("By hand", {"hand": "1\n"})
    make_dirty(world, place)
    world.git("branch", "idle", "feature")
    world.session()
    return place


def die(world: World, name: str, point: str) -> None:
    """Adopt until it is killed at the point."""
    done = world.drive("adopt", name, "auth", "login", GITWORKER_CRASH_AT=point)
    assert done.returncode == KILLED, done.stderr


@pytest.mark.parametrize("point", POINTS)
def test_adopted_worktree(world: World, point: str) -> None:
    """The next command leaves a worktree made by hand untouched, by the one name or the other."""
    place = by_hand(world)
    before, seen, refs = take(world), read_worktree(world, place), world.refs()
    die(world, str(place), point)
    assert world.drive("recover_all").returncode == 0
    require_nothing_lost(world, before)
    assert read_worktree(world, place)[:4] == seen[:4]
    if point == "adopt.recorded":
        assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")
        assert "refs/heads/auth/login" in world.refs()
    else:
        assert world.refs() == refs
        assert read_worktree(world, place) == seen
        assert world.query("SELECT worker_id FROM workers") == []
        assert world.drive("adopt", str(place), "auth", "login").returncode == 0


@pytest.mark.parametrize("point", POINTS)
def test_adopted_branch(world: World, point: str) -> None:
    """The next command gives a branch its name back, and leaves no worktree of it."""
    by_hand(world)
    before, refs = take(world), world.refs()
    die(world, "idle", point)
    assert world.drive("recover_all").returncode == 0
    require_nothing_lost(world, before)
    if point != "adopt.recorded":
        assert world.refs() == refs
        assert len(world.worktrees()) == 1
    again = world.drive("adopt", "idle", "auth", "login")
    assert again.returncode == (4 if point == "adopt.recorded" else 0) or "auth" in again.stderr


def test_git_was_killed_in_the_rename(world: World) -> None:
    """If git was killed with neither branch name in place, the branch is created again."""
    by_hand(world)
    tip = world.tip("idle")
    die(world, "idle", "adopt.journal")
    world.git("update-ref", "-d", "refs/heads/idle")
    assert world.drive("recover_all").returncode == 0
    assert world.tip("idle") == tip


def log_of(world: World, name: str) -> Path:
    """Return the file of a branch's reflog."""
    return world.root / ".git/logs/refs/heads" / name


# The state when git is killed: the reflog is moved away and the old ref is deleted.
MOVED = {
    "log moved": (".tmp-renamed-log", False),
    "old ref deleted": (".tmp-renamed-log", True),
    "log has the new name": ("heads/auth/login", True),
    "log overwritten by another rename": (None, True),
}


@pytest.mark.parametrize("stage", list(MOVED))
@pytest.mark.parametrize("name", ["idle", "auth"])
def test_reflog_after_a_killed_rename(world: World, name: str, stage: str) -> None:
    """The branch has its old name and each entry of its reflog, wherever git left them."""
    by_hand(world)
    world.git("branch", "-m", "idle", name)
    world.git("update-ref", "-m", "an entry", f"refs/heads/{name}", "main")
    before, log = log_of(world, name).read_bytes(), log_of(world, name)
    die(world, name, "adopt.journal")
    (number,) = world.query("SELECT id FROM operations")[0]
    KeptLog(str(world.root / ".git"), f"{world.state_dir}/reflog-of-adopt-{number}").keep(
        Ref(f"refs/heads/{name}")
    )
    target, is_deleted = MOVED[stage]
    moving = log.rename(world.root / ".git/logs/refs/.tmp-renamed-log")
    if is_deleted:
        world.git("update-ref", "-d", f"refs/heads/{name}")
    if target is None:
        moving.unlink()
    elif target != moving.name:
        place = world.root / ".git/logs/refs" / target
        place.parent.mkdir(parents=True, exist_ok=True)
        moving.rename(place)
    assert world.drive("recover_all").returncode == 0
    assert log_of(world, name).read_bytes().startswith(before)
    assert not moving.exists()
    assert not [*world.state_dir.glob("reflog-of-adopt-*")]
    assert world.git("rev-parse", f"{name}@{{1}}") or is_deleted


def test_commit_after_the_kill(world: World) -> None:
    """A commit made under the new name comes along when the old one is given back."""
    place = by_hand(world)
    die(world, str(place), "adopt.hooks")
    tip = Repo(place).commit("After the kill", {"late": "l\n"})
    assert world.drive("recover_all").returncode == 0
    assert world.tip("feature") == tip


@pytest.mark.parametrize("name", ["by-hand", "idle"])
@pytest.mark.parametrize("point", ["undo.journal", "undo.renamed", "undo.released"])
def test_undone(world: World, name: str, point: str) -> None:
    """An undo of an adoption is finished by the next command, with every byte in its place."""
    place = by_hand(world)
    seen, refs = read_worktree(world, place), world.refs()
    assert (
        world.drive("adopt", "idle" if name == "idle" else str(place), "auth", "login").returncode
        == 0
    )
    before = take(world)
    assert world.drive("undo", GITWORKER_CRASH_AT=point).returncode == KILLED
    assert world.drive("recover_all").returncode == 0
    assert world.states("auth", "login") == ("IDLE", "READY")
    assert world.refs() == refs
    assert read_worktree(world, place) == seen
    require_nothing_lost(world, before)
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []


def test_git_was_killed_in_the_undo(world: World) -> None:
    """If git was killed after it renamed the ref, the next command completes the undo."""
    place = by_hand(world)
    world.git("config", "branch.feature.description", "mine")
    seen, refs = read_worktree(world, place), world.refs()
    assert world.drive("adopt", str(place), "auth", "login").returncode == 0
    assert world.drive("undo", GITWORKER_CRASH_AT="undo.journal").returncode == KILLED
    world.git("update-ref", "refs/heads/feature", "auth/login")
    world.git("update-ref", "-d", "refs/heads/auth/login")
    assert world.drive("recover_all").returncode == 0
    assert (read_worktree(world, place), world.refs()) == (seen, refs)
    assert world.git("symbolic-ref", "HEAD", cwd=place) == "refs/heads/feature"
    assert world.git("config", "branch.feature.description") == "mine"


def test_work_after_a_killed_undo(world: World) -> None:
    """A killed undo that had changed nothing is dropped if the worker has begun since."""
    place = by_hand(world)
    assert world.drive("adopt", str(place), "auth", "login").returncode == 0
    assert world.drive("undo", GITWORKER_CRASH_AT="undo.journal").returncode == KILLED
    Repo(place).commit("Work", {"work": "w\n"})
    world.drive("recover_all")
    assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")
    assert "refs/heads/auth/login" in world.refs()
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []
