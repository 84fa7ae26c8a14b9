"""If a removed worktree was deleted, undo creates a new one from the rescue ref."""

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import GitWorkerError
from gitworker.journal.undo.undo import Undone, undo
from gitworker.workers.cancel import cancel
from tests.journal.test_gc import collect, trash
from tests.workers.dirty_worktree import open_rebase, read_worktree
from tests.workers.world import World, newest


def cancelled(world: World) -> None:
    """Cancel the worker, and let gc delete its worktree."""
    cancel(world.session(), "auth")
    collect(world)
    assert trash(world) == []


def undo_cancel(world: World) -> Undone:
    """Undo the newest cancel, which a gc has followed."""
    return undo(world.session(), newest(world, "cancel"))


def test_uncommitted_work_comes_back(world: World) -> None:
    """Staged, unstaged, deleted and untracked files are as they were, and the index is."""
    place = world.working("auth", "login", {"a": "1\n", "b": "1\n", "c": "1\n"})
    Repo(place).write({"README": "staged\n", "new/deep": "untracked\n", "a": "unstaged\n"})
    world.git("add", "README", cwd=place)
    world.git("rm", "-q", "--cached", "c", cwd=place)
    Repo(place).write({"README": "staged, then changed\n", "b": None})
    before = read_worktree(world, place)
    cancelled(world)
    done = undo_cancel(world)
    assert read_worktree(world, place) == before
    assert done.message == "login is back with auth, which waits for its author"


def test_an_open_rebase_stays_under_its_ref(world: World) -> None:
    """Work in an open rebase is not put onto the branch, and the report names its rescue ref."""
    place = world.working("auth", "login", {"a": "1\n"})
    open_rebase(world, place)
    cancelled(world)
    done = undo_cancel(world)
    assert world.git("status", "--porcelain", cwd=place) == ""
    ref = "refs/worker/rescue/auth/login/1"
    assert done.message.endswith(f"uncommitted work is still under {ref} (git stash apply {ref})")


def test_a_landing(world: World) -> None:
    """The uncommitted work of a landed worktree comes back with the undo of the landing."""
    place = world.approved("auth", "login", {"a": "1\n"})
    Repo(place).write({"new": "untracked\n", "a": "unstaged\n"})
    before = read_worktree(world, place)
    world.land("auth")
    collect(world)
    assert trash(world) == []
    undo(world.session(), newest(world, "merge"))
    assert read_worktree(world, place) == before


def test_submodules_are_filled(world: World, tmp_path: Path) -> None:
    """The new worktree is set up like any other new one."""
    Repo.make(tmp_path / "sub").commit("Sub", {"s": "1\n"})
    world.git("submodule", "--quiet", "add", str(tmp_path / "sub"), "sub")
    world.git("commit", "-q", "-m", "Add it")
    place = world.working("auth", "login", {"a": "1\n"})
    cancelled(world)
    undo_cancel(world)
    assert (place / "sub" / "s").read_text() == "1\n"


def test_a_hook_that_fails(world: World) -> None:
    """The user's post-checkout may fail; the worktree is there all the same."""
    place = world.working("auth", "login", {"a": "1\n"})
    cancelled(world)
    hook = world.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    undo_cancel(world)
    assert (place / "a").read_text() == "1\n"


def test_killed_in_the_checkout(world: World, tmp_path: Path) -> None:
    """A worktree that a killed git left half made is set aside, and made again."""
    place = world.working("auth", "login", {"a": "1\n", "z": "1\n"})
    Repo(place).write({"new": "untracked\n"})
    before = read_worktree(world, place)
    cancelled(world)
    kill = tmp_path / "kill"
    kill.write_text("#!/bin/sh\nkill -9 0\n")
    kill.chmod(0o755)
    (world.root / ".git" / "info" / "attributes").write_text("a filter=kill\n")
    world.git("config", "filter.kill.smudge", str(kill))
    words = world.argv("undo", str(newest(world, "cancel")))
    done = subprocess.run(words, cwd=world.root, check=False, start_new_session=True)
    assert done.returncode == -signal.SIGKILL
    assert place.is_dir()
    world.git("config", "--unset", "filter.kill.smudge")
    (world.root / ".git" / "info" / "attributes").unlink()
    with pytest.raises(GitWorkerError):
        undo(world.session(), newest(world, "cancel"))
    assert read_worktree(world, place) == before
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []


def test_a_worktree_that_was_moved_follows(world: World) -> None:
    """The undo of an approval finds a worktree that its user has moved since."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"theirs": "1\n"})
    world.approve("auth")
    world.git("worktree", "move", "-f", "-f", str(place), str(world.root.parent / "moved"))
    undo(world.session())
    assert world.git("status", "--porcelain", cwd=world.root.parent / "moved") == ""
    assert not (world.root.parent / "moved" / "theirs").exists()


def test_a_worktree_that_was_deleted_by_hand(world: World) -> None:
    """If the worktree was deleted by hand, undo restores only the branch."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    world.advance({"theirs": "1\n"})
    world.approve("auth")
    shutil.rmtree(place)
    world.git("worktree", "prune")
    undo(world.session())
    assert world.tip("auth/login") == tip
