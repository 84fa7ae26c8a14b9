"""adopt: existing work becomes a worker's without a change, and every reason to leave it alone."""

import os
from pathlib import Path
from typing import Any

import pytest

from fixtures.repos import Repo
from gitworker.errors import Conflict, GitWorkerError, NotFound, Refused
from gitworker.journal.undo.undo import undo
from gitworker.model.ids import TaskId, WorkerId
from gitworker.repo.hooks.install import is_installed
from gitworker.workers.adopt import Adopted, AdoptRequest, adopt
from gitworker.workers.cancel import cancel
from gitworker.workers.start import start
from tests.workers.dirty_worktree import make_dirty, open_rebase, read_worktree
from tests.workers.world import World, unchanged


def take(world: World, name: str, worker: str = "auth", task: str = "login", **how: Any) -> Adopted:
    """Adopt a branch or worktree, with the rename allowed."""
    wanted = AdoptRequest(name, WorkerId(worker), TaskId(task), **{"rename": True, **how})
    return adopt(world.session(), wanted)


def by_hand(world: World, branch: str = "feature") -> Path:
    """Make a worktree by hand, one commit on a branch of its own."""
    place = world.root.parent / "by-hand"
    Repo(world.root).worktree(place, "-b", branch).commit("By hand", {"hand": "1\n"})
    return place


def hooked(world: World, place: Path) -> bool:
    """Return whether our hooks fire in a worktree."""
    session = world.session()
    admin = world.git("rev-parse", "--path-format=absolute", "--git-dir", cwd=place)
    return is_installed(session.git, admin, session.paths.hooks)


def test_worktree(world: World) -> None:
    """A worktree made by hand is the worker's, in its place, with every byte and the index."""
    place = by_hand(world)
    make_dirty(world, place)
    before, tip = read_worktree(world, place), world.tip("feature")
    done = take(world, str(place))
    assert (done.spawned.path, done.renamed_from) == (str(place), "feature")
    assert read_worktree(world, place)[:4] == before[:4]
    assert world.git("symbolic-ref", "HEAD", cwd=place) == "refs/heads/auth/login"
    assert world.tip("auth/login") == tip
    assert "refs/heads/feature" not in world.refs()
    assert not any("refs/worker" in name for name in world.refs())
    assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")
    row = world.worker("auth")
    assert (row.worktree, row.base_oid) == (str(place), world.tip())
    assert hooked(world, place)
    assert world.session(place).actor == "auth"


def test_it_lands(world: World) -> None:
    """Adopted work is submitted, approved and landed as any other; old commits are not reported."""
    place = by_hand(world)
    take(world, str(place))
    start(world.session(), "auth", pid=None)
    world.commit("auth", {"more": "2\n"}, "More")
    assert world.submit("auth").commits == 2
    assert len(world.messages("task_progress")) == 1
    world.approve("auth")
    world.land("auth")
    assert world.show("hand") == "1"
    assert not place.exists()


def test_branch_without_a_worktree(world: World) -> None:
    """A branch that is checked out nowhere gets a worktree."""
    world.git("branch", "feature")
    done = take(world, "feature")
    assert done.spawned.path == str(world.root / "worktrees" / "login")
    assert world.git("symbolic-ref", "HEAD", cwd=done.spawned.path) == "refs/heads/auth/login"
    assert hooked(world, Path(done.spawned.path))


@pytest.mark.parametrize("name", ["feature", "refs/heads/feature"])
def test_branch_in_a_worktree(world: World, name: str) -> None:
    """A branch that is checked out in a worktree comes with it."""
    place = by_hand(world)
    assert take(world, name).spawned.path == str(place)


def test_branch_of_the_right_name(world: World) -> None:
    """A branch that is called as a worker's is needs no permission."""
    world.git("branch", "auth/login")
    assert take(world, "auth/login", rename=False).renamed_from is None


def test_reflog_and_settings_come_along(world: World) -> None:
    """The branch's reflog and its upstream settings have the new name."""
    by_hand(world)
    world.git("config", "branch.feature.remote", "up")
    world.git("config", "branch.feature.merge", "refs/heads/feature")
    log = world.git("reflog", "show", "--format=%gs", "feature").splitlines()
    take(world, "feature")
    assert world.git("config", "branch.auth/login.merge") == "refs/heads/feature"
    assert world.git("reflog", "show", "--format=%gs", "auth/login").splitlines()[1:] == log


def test_a_lock_on_the_anchor(world: World) -> None:
    """A lock that a killed git left on our own ref is named, and nothing has changed."""
    by_hand(world)
    refs = world.refs()
    lock = world.root / ".git/refs/worker/landing/auth/login.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    with pytest.raises(GitWorkerError) as caught:
        take(world, "feature")
    assert str(lock) in caught.value.message
    assert world.refs() == refs
    lock.unlink()
    take(world, "feature")


def test_branch_that_is_called_like_the_worker(world: World) -> None:
    """Branch `auth` can become `auth/login`, which it would block under its own name."""
    world.git("branch", "auth")
    take(world, "auth")
    assert "refs/heads/auth/login" in world.refs()


def test_cancel_and_undo(world: World) -> None:
    """Adopted work is withdrawn into the trash, and undo restores it to its place."""
    place = by_hand(world)
    make_dirty(world, place)
    take(world, str(place))
    before = read_worktree(world, place)
    cancel(world.session(), "auth")
    assert not place.exists()
    undo(world.session())
    assert read_worktree(world, place) == before


def test_rename_needs_permission(world: World) -> None:
    """Without permission no branch gets another name; the hint is the same command with it."""
    by_hand(world)
    with unchanged(world, "rename_needed") as caught:
        take(world, "feature", rename=False)
    assert "git worker adopt --rename feature auth login" in str(caught.value.hint)


def test_target(world: World) -> None:
    """The target is not adopted."""
    world.git("switch", "-q", "--detach")
    with unchanged(world, "is_target"):
        take(world, "main")


def test_main_checkout(world: World) -> None:
    """The main checkout is not adopted, nor is the branch that is checked out there."""
    world.git("switch", "-q", "-c", "feature")
    for name in ("feature", str(world.root)):
        with unchanged(world, "main_checkout"):
            take(world, name)


def test_another_workers(world: World) -> None:
    """A worker's branch or worktree is not given to another."""
    place = world.spawn("docs", "words").path
    for name in ("docs/words", place):
        with unchanged(world, "taken"):
            take(world, name)


def test_no_such_thing(world: World) -> None:
    """A name without a branch or worktree is not found."""
    for name in ("nothing", "-d", "../x", str(world.root.parent)):
        with unchanged(world, "not_found", NotFound):
            take(world, name)


def test_two_things(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worktree and another branch of the same name are chosen between by the user."""
    place = by_hand(world)
    world.git("branch", "by-hand")
    monkeypatch.chdir(place.parent)
    wanted = AdoptRequest("by-hand", WorkerId("auth"), TaskId("login"), rename=True)
    session = world.session()
    with unchanged(world, "ambiguous"):
        adopt(session, wanted)


def test_detached(world: World) -> None:
    """A worktree that is on no branch has nothing to adopt."""
    place = by_hand(world)
    world.git("checkout", "-q", "--detach", cwd=place)
    with unchanged(world, "detached"):
        take(world, str(place))


def test_open_rebase(world: World) -> None:
    """A worktree in the middle of a rebase is left to end it, by whichever name."""
    place = by_hand(world)
    open_rebase(world, place)
    for name in ("feature", str(place)):
        with unchanged(world, "operation_open"):
            take(world, name)


def test_locked(world: World) -> None:
    """A worktree that its user locked stays his."""
    place = by_hand(world)
    world.git("worktree", "lock", str(place))
    with unchanged(world, "worktree_locked"):
        take(world, str(place))
    world.git("worktree", "unlock", str(place))


def test_locked_by_claude(world: World) -> None:
    """A worktree that Claude Code made and locked is adopted, and keeps the lock."""
    place = world.root / ".claude/worktrees/by-hand"
    Repo(world.root).worktree(place, "-b", "feature").commit("By hand", {"hand": "1\n"})
    world.git("worktree", "lock", "--reason", "claude session", str(place))
    adopted = take(world, str(place))
    assert adopted.spawned.path == str(place)
    start(world.session(), "auth", pid=os.getpid())
    assert "locked claude session" in world.git("worktree", "list", "--porcelain")


def test_worktree_that_is_not_there(world: World) -> None:
    """A worktree on a disk that is not mounted is not adopted."""
    place = by_hand(world)
    place.rename(place.with_name("elsewhere"))
    with pytest.raises(Refused) as caught:
        take(world, "feature")
    assert caught.value.code == "no_worktree"


def test_checked_out_twice(world: World) -> None:
    """A branch that two worktrees stand on cannot be one worker's."""
    place = by_hand(world)
    world.git("worktree", "add", "-q", "--force", str(world.root.parent / "again"), "feature")
    for name in ("feature", str(place)):
        with unchanged(world, "checked_out_twice"):
            take(world, name)


def test_another_file_system(world: World) -> None:
    """A worktree from which nothing can be renamed into the trash is not taken."""
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == world.root.stat().st_dev:
        pytest.skip("there is no second file system")
    place = other / f"gitworker-{os.getpid()}"
    Repo(world.root).worktree(place, "-b", "feature")
    try:
        with unchanged(world, "other_file_system"):
            take(world, "feature")
    finally:
        world.git("worktree", "remove", "--force", str(place))


@pytest.mark.parametrize("name", ["auth/login", "auth/login/deep", "auth"])
def test_name_is_taken(world: World, name: str) -> None:
    """The branch's new name, the names below it and the names that block it must be free."""
    by_hand(world)
    world.git("branch", name)
    with unchanged(world, "branch_exists"):
        take(world, "feature")


def test_busy_worker(world: World) -> None:
    """A worker that has a task takes no other."""
    by_hand(world)
    world.spawn("auth", "other")
    with unchanged(world):
        take(world, "feature")


def test_held_task(world: World) -> None:
    """A task that a worker has is not given to another."""
    by_hand(world)
    world.spawn("docs", "login")
    with unchanged(world):
        take(world, "feature")


def test_failure_gives_everything_back(world: World) -> None:
    """A failure on the way leaves branch, worktree and hooks unchanged."""
    place = by_hand(world)
    make_dirty(world, place)
    before, refs = read_worktree(world, place), world.refs()
    (world.root / ".git" / "refs" / "heads" / "auth" / "login.lock").parent.mkdir()
    (world.root / ".git" / "refs" / "heads" / "auth" / "login.lock").write_text("")
    with pytest.raises(GitWorkerError) as caught:
        take(world, str(place))
    assert caught.value.code == "rename_refused"
    (world.root / ".git" / "refs" / "heads" / "auth" / "login.lock").unlink()
    assert (read_worktree(world, place), world.refs()) == (before, refs)
    assert not hooked(world, place)
    assert world.query("SELECT status FROM operations") == [("rolled_back",)]
    take(world, str(place))


def test_late_failure(world: World) -> None:
    """A claim by a foreign program during adopt undoes the rename, the hooks and the mark."""
    place = by_hand(world)
    before, refs = read_worktree(world, place), world.refs()
    with world.session().store.write() as writer:
        writer.run("claims.insert", task="login", agent="robot", now=1, lease_until_ms=2**52)
    with unchanged(world, "claimed", Conflict):
        take(world, str(place))
    assert (read_worktree(world, place), world.refs()) == (before, refs)


def test_new_worktree_is_furnished(world: World) -> None:
    """A worktree that is made for a branch gets the included files, and the setup commands run."""
    Repo(world.root).write({".worktreeinclude": "*.o\n", "a.o": "object"})
    world.git("config", "worker.worktree.setup", "echo ready >made.o")
    world.git("branch", "feature")
    place = Path(take(world, "feature").spawned.path)
    assert ((place / "a.o").read_text(), (place / "made.o").read_text()) == ("object", "ready\n")


def test_adopted_worktree_is_not_furnished(world: World) -> None:
    """No file is added to a worktree that a user has set up by hand."""
    Repo(world.root).write({".worktreeinclude": "*.o\n", "a.o": "object"})
    world.git("config", "worker.worktree.setup", "echo ready >made.o")
    place = by_hand(world)
    take(world, "feature")
    assert sorted(path.name for path in place.glob("*.o")) == []
