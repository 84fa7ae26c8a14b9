"""Undoing an adoption restores name, hooks and mark, or is refused once the worker has begun."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import NotFound, Refused
from gitworker.journal.gc.gc import gc, gc_request
from gitworker.journal.sweep import sweep
from gitworker.journal.undo.records import list_records
from gitworker.journal.undo.undo import undo
from gitworker.workers.cancel import cancel
from gitworker.workers.start import start
from tests.workers.dirty_worktree import make_dirty, open_rebase, read_worktree
from tests.workers.test_adopt import by_hand, hooked, take
from tests.workers.world import World, unchanged


def test_worktree(world: World) -> None:
    """A worktree made by hand is its user's again, every byte of it, with the branch's old name."""
    place = by_hand(world)
    make_dirty(world, place)
    world.git("config", "branch.feature.description", "mine")
    before, refs = read_worktree(world, place), world.refs()
    take(world, str(place))
    done = undo(world.session())
    assert (done.kind, done.worker.state) == ("adopt", "IDLE")
    assert done.message == "feature is no longer managed; auth has no task"
    assert (read_worktree(world, place), world.refs()) == (before, refs)
    assert world.git("config", "branch.feature.description") == "mine"
    assert not hooked(world, place)
    assert world.session(place).actor == "hq"
    assert world.states("auth", "login") == ("IDLE", "READY")
    assert world.worker("auth").worktree is None
    assert world.query("SELECT * FROM task_claims") == []
    with pytest.raises(NotFound):
        undo(world.session())


def test_again(world: World) -> None:
    """A branch that was given back can be adopted again, by the same worker or another."""
    by_hand(world)
    take(world, "feature")
    undo(world.session())
    take(world, "feature", worker="docs")
    assert world.states("docs", "login") == ("ASSIGNED", "ASSIGNED")
    undo(world.session())
    take(world, "feature")
    assert world.tip("auth/login")


def test_branch_without_a_worktree(world: World) -> None:
    """The worktree that the adoption created is trashed, and the branch has its old name again."""
    world.git("branch", "feature")
    refs = world.refs()
    place = Path(take(world, "feature").spawned.path)
    (place / "made.o").write_text("ignored\n")
    undo(world.session())
    assert world.refs() == refs
    assert not place.exists()
    assert not world.worktrees()
    assert list((world.root / "worktrees/.trash").glob("*/tree/made.o"))


def test_gc_deletes_the_created_worktree(world: World) -> None:
    """The worktree of an undone adoption needs no rescue, because the branch is where it was."""
    world.git("branch", "feature")
    take(world, "feature")
    undo(world.session())
    session = world.session()
    done = gc(session, gc_request(session, days=0))
    assert [item.kind for item in done.choice.selected] == ["trash"]
    assert not done.choice.held


def test_branch_of_the_right_name(world: World) -> None:
    """A branch that had no other name keeps its own."""
    world.git("branch", "auth/login")
    take(world, "auth/login")
    undo(world.session())
    assert "refs/heads/auth/login" in world.refs()
    assert not world.worktrees()


def test_a_failed_setup(world: World) -> None:
    """If the setup of the new worktree failed, the undo still restores the branch name."""
    world.git("branch", "feature")
    world.git("config", "worker.worktree.setup", "exit 1")
    with pytest.raises(Refused):
        take(world, "feature")
    undo(world.session())
    assert "refs/heads/feature" in world.refs()
    assert world.states("auth", "login") == ("IDLE", "READY")


def test_moved_worktree(world: World) -> None:
    """A worktree that its user has moved since is found at its new path."""
    place = by_hand(world)
    take(world, "feature")
    world.git("worktree", "move", str(place), str(place.with_name("moved")))
    sweep(world.session())
    undo(world.session())
    assert not hooked(world, place.with_name("moved"))
    assert "refs/heads/feature" in world.refs()


def number(world: World) -> int:
    """Return the number of the adoption in the journal."""
    ((found,),) = world.query("SELECT id FROM operations WHERE kind = 'adopt'")
    return int(str(found))


def test_the_worker_has_begun(world: World) -> None:
    """Once the worker has begun, `undo` skips its adoption, and `undo N` gives the reason."""
    by_hand(world)
    world.working("bob", "other", {"b": "1\n"})
    cancel(world.session(), "bob")
    take(world, "feature")
    start(world.session(), "auth", pid=None)
    with unchanged(world, "moved_on"):
        undo(world.session(), number(world))
    assert [one.record.kind for one in list_records(world.session(), limit=9)] == ["cancel"]
    assert undo(world.session()).kind == "cancel"


def test_a_commit_since(world: World) -> None:
    """A branch that has a commit more is the worker's."""
    place = by_hand(world)
    take(world, "feature")
    Repo(place).commit("More", {"more": "1\n"})
    with unchanged(world, "branch_moved"):
        undo(world.session())
    (listed,) = list_records(world.session(), limit=9)
    assert listed.refusal is not None


@pytest.mark.parametrize("name", ["feature", "feature/deep"])
def test_old_name_is_taken(world: World, name: str) -> None:
    """Nothing is changed if a new branch blocks the old name."""
    by_hand(world)
    take(world, "feature")
    world.git("branch", name)
    with unchanged(world, "branch_exists"):
        undo(world.session())


def test_a_name_above_is_taken(world: World) -> None:
    """A branch whose name is the beginning of the old one is in its way as well."""
    world.git("branch", "idea/one")
    take(world, "idea/one")
    world.git("branch", "idea")
    with unchanged(world, "branch_exists"):
        undo(world.session())


def test_open_rebase(world: World) -> None:
    """A branch that is being rebased is not renamed."""
    place = by_hand(world)
    take(world, "feature")
    open_rebase(world, place)
    with pytest.raises(Refused) as caught:
        undo(world.session())
    assert caught.value.code in ("operation_open", "branch_moved")


@pytest.mark.parametrize("how", ["dirty", "switched", "locked"])
def test_used_worktree(world: World, how: str) -> None:
    """A worktree that the adoption made stays once something is in it, or it is locked."""
    world.git("branch", "feature")
    place = Path(take(world, "feature").spawned.path)
    if how == "dirty":
        (place / "new").write_text("untracked\n")
    elif how == "switched":
        world.git("switch", "-q", "--detach", cwd=place)
    else:
        world.git("worktree", "lock", str(place))
    with unchanged(world, "worktree_locked" if how == "locked" else "worktree_changed"):
        undo(world.session())


def test_git_refuses(world: World) -> None:
    """If git cannot rename the branch, nothing changes and no operation is left open."""
    place = by_hand(world)
    take(world, "feature")
    before, refs = read_worktree(world, place), world.refs()
    lock = world.root / ".git/refs/heads/feature.lock"
    lock.write_text("")
    with pytest.raises(Refused) as caught:
        undo(world.session())
    lock.unlink()
    assert caught.value.code == "rename_refused"
    assert (read_worktree(world, place), world.refs()) == (before, refs)
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []
    undo(world.session())


def test_deleted_worktree(world: World) -> None:
    """A deleted worktree does not stop the branch from getting its name back."""
    place = by_hand(world)
    take(world, "feature")
    world.git("worktree", "remove", "--force", str(place))
    undo(world.session())
    assert "refs/heads/feature" in world.refs()
