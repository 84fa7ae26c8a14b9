"""The worktree of a landed worker is deleted, moved to the trash with a rescue ref, or kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.journal.undo.undo import undo
from gitworker.worktrees.removal import WorkerToRemove, finish_removal, plan_removals
from gitworker.worktrees.trashing import trash_root
from tests.workers.world import World, unchanged, wait_until

HOLD = "import sys; print('here', flush=True); sys.stdin.read()"


def trashed(world: World) -> list[Path]:
    """Return the worktrees that lie whole in the trash."""
    root = Path(trash_root(world.session()))
    return sorted(root.glob("[!.]*/tree")) if root.is_dir() else []


def every_object(world: World) -> bytes:
    """Return all blobs of the repository, reachable or not."""
    batch = ("cat-file", "--batch-all-objects", "--unordered", "--batch")
    return Repo(world.root).run(*batch).stdout


def test_clean_worktree_is_deleted(world: World) -> None:
    """A landed worktree that contains only its commit and our log is deleted."""
    place = world.approved("auth", "login", {"a": "1\n"})
    Repo(place).write({".worker.log": "what the agent said\n"})
    world.land("auth")
    wait_until(lambda: trashed(world) == [])
    assert not [name for name in world.refs() if "rescue" in name]
    assert len(list((world.state_dir / "logs").glob("auth-login-*.log"))) == 1


def test_ignored_files_can_be_had_back(world: World) -> None:
    """A landed worktree with ignored files stays in the trash, and undo brings them back."""
    place = world.approved("auth", "login", {"a": "1\n"})
    Repo(place).write({"secret.o": "the-secret-key"})
    world.land("auth")
    (tree,) = trashed(world)
    wait_until(lambda: (tree.parent / "landed").exists())
    assert not [name for name in world.refs() if "rescue" in name]
    undo(world.session())
    assert (place / "secret.o").read_text() == "the-secret-key"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_hidden_change_is_rescued(world: World, flag: str) -> None:
    """A change that a flag of the index hides is uncommitted work: in the trash and a rescue."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.git("update-index", flag, "README", cwd=place)
    Repo(place).write({"README": "my settings\n"})
    world.land("auth")
    assert world.show("README", "refs/worker/rescue/auth/login/1") == "my settings"
    (tree,) = trashed(world)
    assert (tree / "README").read_text() == "my settings\n"


def test_commits_on_no_branch_are_kept(world: World) -> None:
    """A worktree whose HEAD is detached at commits of its own is landed and kept."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.git("checkout", "-q", "--detach", cwd=place)
    lost = world.commit("auth", {"experiment": "x\n"})
    done = world.land("auth")
    assert (done.kept, "detached" in (done.kept_why or "")) == (str(place), True)
    assert world.tip("HEAD") == world.tip("auth/login")
    assert world.git("rev-parse", "HEAD", cwd=place) == lost


def test_open_rebase_is_kept(world: World) -> None:
    """A clean worktree with an open rebase is kept, because the rebase may hold an autostash."""
    place = world.approved("auth", "login", {"a": "1\n"})
    Repo(place).write({"README": "not committed\n"})
    stop = {**os.environ, "GIT_SEQUENCE_EDITOR": "echo break >"}
    rebase = ("rebase", "-q", "--autostash", "-i", "main")
    assert Repo(place).run(*rebase, env=stop).returncode == 0
    assert world.git("status", "--porcelain", cwd=place) == ""
    done = world.land("auth")
    assert (done.kept, done.kept_why) == (str(place), "a rebase is open there")
    world.git("rebase", "--abort", cwd=place)
    assert (place / "README").read_text() == "not committed\n"


def test_head_detached_at_a_landed_commit(world: World) -> None:
    """A HEAD that is detached at a commit of the target does not keep the worktree."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.git("checkout", "-q", "--detach", cwd=place)
    assert world.land("auth").kept is None
    wait_until(lambda: trashed(world) == [])


def test_commit_between_look_and_plan_is_rescued(world: World) -> None:
    """A commit made between the check of a worktree and its removal is kept by a rescue ref."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.land("auth", keep=True)
    landed = world.worker("auth")
    looked = WorkerToRemove(landed, dirty=False, known=(world.tip("auth/login"),))
    late = world.commit("auth", {"late": "x\n"})
    (operation,) = plan_removals(world.session(), [looked], "remove")
    removed = finish_removal(world.session(), operation)
    assert removed.worker.worktree is None
    assert world.refs()["refs/worker/rescue/auth/login/1"] == late
    (tree,) = trashed(world)
    assert (tree / "late").exists()
    assert not place.exists()


def test_dirty_worktree_goes_to_the_trash(world: World) -> None:
    """Uncommitted and untracked files of a landed worktree stay on disk and in a rescue ref."""
    place = world.approved("auth", "login", {"a": "1\n"})
    Repo(place).write({"a": "changed\n", "new": "untracked\n", "secret.o": "the-secret-key"})
    world.land("auth")
    (tree,) = trashed(world)
    assert (tree / "a").read_text() == "changed\n"
    assert (tree / "secret.o").read_text() == "the-secret-key"
    (rescue,) = [name for name in world.refs() if "rescue" in name]
    assert rescue == "refs/worker/rescue/auth/login/1"
    assert world.show("new", rescue) == "untracked"
    assert world.show("a", rescue) == "changed"
    assert b"the-secret-key" not in every_object(world)


def test_keep(world: World) -> None:
    """With keep, the worktree and the branch stay, and the result gives the reason."""
    place = world.approved("auth", "login", {"a": "1\n"})
    done = world.land("auth", keep=True)
    assert (done.kept, done.kept_why) == (str(place), "--keep")
    assert place.is_dir()
    assert world.tip("auth/login") == done.commit


def test_keep_names_what_is_left_out(world: World) -> None:
    """With keep, the files that are not committed are named, and stay as they are."""
    place = world.approved("auth", "login", {"a": "1\n"})
    (place / "a").write_text("2\n")
    (place / "new").write_text("1\n")
    done = world.land("auth", keep=True)
    assert done.left_out is not None
    assert done.left_out.files == ("a", "new")
    assert (place / "a").read_text() == "2\n"


def test_occupied_worktree_is_kept(world: World) -> None:
    """A worktree in which a process works is landed and kept, and the report names the pid."""
    place = world.approved("auth", "login", {"a": "1\n"})
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdout is not None
        agent.stdout.readline()
        done = world.land("auth")
        agent.communicate(b"")
    assert done.kept == str(place)
    assert str(agent.pid) in (done.kept_why or "")
    assert world.worker("auth").state == "COMPLETED"
    assert place.is_dir()


def test_locked_worktree_is_kept(world: World) -> None:
    """A worktree that its user locked is landed and kept, and nothing is left half done."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.git("worktree", "unlock", str(place))  # as the agent had it locked
    world.git("worktree", "lock", str(place))
    done = world.land("auth")
    assert done.kept == str(place)
    assert "locked" in (done.kept_why or "")
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []
    assert world.tip("auth/login") == done.commit


def test_commit_after_the_landing_is_kept(world: World) -> None:
    """A landed branch that has moved on is no longer ours to delete."""
    from gitworker.journal.finish_landing import LandedWorker, remove_landed
    from gitworker.repo.plumbing.refs import find_ref

    place = world.approved("auth", "login", {"a": "1\n"})
    world.land("auth", keep=True)
    landed = world.worker("auth")
    late = world.commit("auth", {"late": "x\n"})
    session = world.session()
    (cleaned,) = remove_landed(session, [LandedWorker(landed)])
    assert cleaned.kept == str(place)
    assert "not landed" in (cleaned.why or "")
    assert find_ref(session.git, "refs/heads/auth/login") == late  # type: ignore[arg-type]


def test_worktree_removed_by_hand(world: World) -> None:
    """A worktree that does not exist needs no cleanup, and its branch is still deleted."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.git("worktree", "remove", "--force", "--force", str(place))
    done = world.land("auth")
    assert (done.kept, done.kept_why) == (None, None)
    assert "refs/heads/auth/login" not in world.refs()


def test_clean_in_the_main_checkout_spares_the_trash(world: World) -> None:
    """`git clean -fdx`, which agents run, deletes neither worktrees nor the trash."""
    place = world.approved("auth", "login", {"a": "1\n"})
    Repo(place).write({"a": "changed\n", "secret.o": "the-secret-key"})
    world.land("auth")
    world.working("docs", "words", {"b": "1\n"})
    world.git("clean", "-fdxq")
    (tree,) = trashed(world)
    assert (tree / "secret.o").read_text() == "the-secret-key"
    assert (world.path("docs") / "b").read_text() == "1\n"
    assert world.worker("auth").state == "COMPLETED"
    assert os.path.islink(world.root / ".worker-state")


def test_trash_is_no_place_to_spawn(world: World) -> None:
    """The trash does not show in the main checkout's status."""
    place = world.approved("auth", "login", {"a": "1\n"})
    Repo(place).write({"a": "changed\n"})
    world.land("auth")
    assert world.git("status", "--porcelain") == ""
    with unchanged(world):
        world.spawn("docs", "login")


def test_kept_worktree_outlives_the_next_task(world: World) -> None:
    """A worktree kept by `merge --keep` survives the worker's next task; other remains do not."""
    kept = world.approved("auth", "login", {"a": "1\n"})
    world.land("auth", keep=True)
    world.spawn("auth", "logout")
    assert kept.is_dir()
    assert "refs/heads/auth/login" in world.refs()
