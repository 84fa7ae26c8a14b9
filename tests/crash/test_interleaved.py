"""A command is killed, another command changes something, and then the first one is settled."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.journal.recover import recover_all
from gitworker.lifecycle.fail import fail
from gitworker.review.comments.send import reject
from tests.crash.inventory import all_bytes
from tests.workers.dirty_worktree import make_dirty, read_worktree
from tests.workers.world import World, is_at_work, wait_until


def kill_at(world: World, point: str, *words: str) -> None:
    """Run a use case that dies at a point."""
    assert world.drive(*words, GITWORKER_CRASH_AT=point).returncode == -signal.SIGKILL


def require_free_way(world: World) -> None:
    """Fail the test unless another worker can be approved and landed."""
    world.approved("zoe", "spare", {"zoe": "1\n"})
    world.land("zoe")
    assert world.show("zoe") == "1"


@pytest.mark.parametrize("verb", [reject, fail])
def test_verdict_against_a_killed_approval(world: World, verb) -> None:  # type: ignore[no-untyped-def]
    """A rejection made before the settlement is kept, and no worker is blocked."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    kill_at(world, "approve.moved", "approve", "auth")
    verb(world.session(), "auth", **({"note": "no"} if verb is reject else {"reason": "no"}))
    state = world.worker("auth").state
    require_free_way(world)
    assert world.worker("auth").state == state
    assert state in ("WORKING", "FAILED")


def test_work_after_a_killed_removal_is_kept(world: World) -> None:
    """A file written into a landed worktree before its killed removal resumes is not deleted."""
    place = world.approved("auth", "login", {"a": "1\n"})
    kill_at(world, "remove.journal", "merge", "auth")
    Repo(place).write({"late": "the-late-bytes"})
    recover_all(world.session())
    assert b"the-late-bytes" in set(all_bytes(world))


def test_commit_after_a_killed_removal_is_kept(world: World) -> None:
    """A commit made before the killed removal resumes stays reachable."""
    world.approved("auth", "login", {"a": "1\n"})
    kill_at(world, "remove.journal", "merge", "auth")
    late = world.commit("auth", {"late": "x\n"})
    recover_all(world.session())
    assert late in world.git("rev-list", "--all").splitlines()
    assert "refs/heads/auth/login" not in world.refs()


def test_commit_after_a_killed_cancel_is_kept(world: World) -> None:
    """The same for a withdrawn task; the undo brings that commit back too."""
    world.working("auth", "login", {"a": "1\n"})
    kill_at(world, "cancel.journal", "cancel", "auth")
    late = world.commit("auth", {"late": "x\n"})
    recover_all(world.session())
    assert world.states("auth", "login") == ("IDLE", "CANCELLED")
    assert late in world.refs().values()
    world.drive("undo")
    assert world.tip("auth/login") == late


def test_next_task_after_a_killed_removal(world: World) -> None:
    """A worker that takes its next task before the last removal resumes keeps the new task."""
    world.approved("auth", "login", {"a": "1\n"})
    kill_at(world, "remove.journal", "merge", "auth")
    place = world.spawn("auth", "next").path
    recover_all(world.session())
    assert world.worker("auth").worktree == place
    assert world.worktrees() == [place]


def test_lock_after_a_killed_cancel(world: World) -> None:
    """A worktree that its user locks before a killed cancel resumes stays and blocks no worker."""
    place = world.working("auth", "login", {"a": "1\n"})
    kill_at(world, "cancel.journal", "cancel", "auth")
    world.git("worktree", "unlock", str(place))  # as the agent had it locked
    world.git("worktree", "lock", str(place))
    recover_all(world.session())
    require_free_way(world)
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    assert place.is_dir()


@pytest.mark.parametrize("verb", ["approve", "merge"])
def test_commit_after_a_killed_replay(world: World, verb: str) -> None:
    """A branch that its agent moved before the killed move began keeps its files and its index."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    if verb == "merge":
        world.approve("auth")
    world.advance({"b": "2\n"})
    kill_at(world, f"{verb}.journal", verb, "auth")
    late = world.commit("auth", {"late": "x\n"})
    recover_all(world.session())
    assert world.tip("auth/login") == late
    assert world.git("status", "--porcelain", cwd=place) == ""
    world.approve("auth", at=late) if verb == "approve" else world.merge("auth")
    assert world.git("status", "--porcelain", cwd=place) == ""


@pytest.mark.parametrize("point", ["undo.journal", "restore-tree", "undo.restored"])
def test_other_task_after_a_killed_undo(world: World, point: str) -> None:
    """A worker that takes another task before a killed undo resumes keeps it and loses nothing."""
    place = world.working("auth", "login", {"a": "1\n"})
    make_dirty(world, place)
    assert world.drive("cancel", "auth").returncode == 0
    tip = world.refs()["refs/worker/rescue/auth/login/1"]
    kill_at(world, point, "undo")
    other = world.spawn("auth", "other").path
    recover_all(world.session())
    require_free_way(world)
    assert world.worker("auth").worktree == other
    assert world.worktrees() == [other]
    assert "refs/heads/auth/login" not in world.refs()
    assert tip in world.refs().values()
    assert b"untracked\n" in set(all_bytes(world))


def test_overlap_after_a_killed_undo_of_an_approval(world: World) -> None:
    """A killed undo that became impossible is given up and blocks no worker."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    world.approve("auth")
    kill_at(world, "undo.journal", "undo")
    Repo(place).write({"b": "changed\n"})
    recover_all(world.session())
    assert (place / "b").read_text() == "changed\n"
    require_free_way(world)


@pytest.mark.parametrize("point", ["spawn.journal", "spawn.worktree", "spawn.hooks"])
def test_spawn_again(world: World, point: str) -> None:
    """A killed spawn can be run again at once, and a commit made in between is rescued."""
    kill_at(world, point, "spawn", "auth", "login")
    place = world.root / "worktrees" / "login"
    late = Repo(place).commit("Late", {"late": "x\n"}) if place.exists() else world.tip()
    world.spawn("auth", "login")
    assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")
    assert late in world.git("rev-list", "--all").splitlines()


def test_half_made_worktree(world: World) -> None:
    """The remains of a killed `git worktree add` are moved aside, with its admin directory."""
    kill_at(world, "spawn.journal", "spawn", "auth", "login")
    place, admin = world.root / "worktrees" / "login", world.root / ".git" / "worktrees" / "login"
    world.git("worktree", "add", "-q", "-b", "auth/login", str(place))
    (admin / "locked").write_text("initializing")
    Repo(place).write({"half": "made"})
    recover_all(world.session())
    assert world.worktrees() == []
    assert not admin.exists()
    assert b"made" in set(all_bytes(world))
    world.spawn("auth", "login")


@pytest.mark.parametrize("order", ["repair first", "git first"])
def test_spawn_killed_while_git_checks_out(world: World, tmp_path: Path, order: str) -> None:
    """A git that outlives its killed spawn leaves no branch or worktree behind after the repair."""
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    os.mkfifo(gate)
    os.mkfifo(begun)
    Repo(world.root).write({".gitattributes": "slow filter=slow\n", "slow": "x\n"})
    world.git("add", ".")
    world.git("commit", "-qm", "A slow file")
    world.git("config", "filter.slow.smudge", f"echo go >{begun}; cat {gate}; cat")
    spawn = subprocess.Popen(world.argv("spawn", "auth", "login"), cwd=world.root)
    begun.read_text()
    spawn.kill()
    spawn.wait()
    if order == "repair first":
        world.drive("recover_all")
    gate.write_text("")
    wait_until(lambda: not is_at_work(world.root))
    world.drive("recover_all")
    world.git("config", "--unset", "filter.slow.smudge")
    assert world.worktrees() == []
    assert [name for name in world.refs() if "auth" in name] == []
    assert not (world.root / "worktrees" / "login").exists()


@pytest.mark.parametrize("of_group", [False, True], ids=["alone", "with git and its filter"])
def test_interrupt_in_the_middle_of_a_move(world: World, tmp_path: Path, of_group: bool) -> None:
    """Ctrl-C while the worktree follows leaves no lock, no half move, and every byte."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    make_dirty(world, place)
    Repo(world.root).write({".gitattributes": "slow filter=slow\n", "slow": "x\n"})
    world.git("add", ".")
    world.git("commit", "-qm", "A slow file")
    begun, stop = tmp_path / "begun", tmp_path / "stop"
    os.mkfifo(begun)
    os.mkfifo(stop)
    once = f"test -e {stop}-off || {{ echo go >{begun}; cat {stop}; }}; cat"
    world.git("config", "filter.slow.smudge", once)
    approve = subprocess.Popen(
        world.argv("approve", "auth"), cwd=world.root, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    begun.read_text()
    Path(f"{stop}-off").touch()
    if of_group:  # as a terminal does
        os.killpg(approve.pid, signal.SIGINT)
    else:
        approve.send_signal(signal.SIGINT)
    approve.wait()
    assert approve.returncode != 0
    # A filter that outlived git holds the lock: always without the group, else if its shell was
    # just starting `cat`.
    wait_until(lambda: has_ended(world.root, stop))
    before = {name: data for name, data in read_worktree(world, place)[0].items() if name != "slow"}  # type: ignore[attr-defined]
    recover_all(world.session())
    assert not (world.root / ".git" / "worktrees" / "login" / "index.lock").exists()
    assert world.states("auth", "login") == ("APPROVED", "AWAITING_APPROVAL")
    after = read_worktree(world, place)[0]
    assert {name: after[name] for name in before} == before  # type: ignore[index]
    assert (place / "slow").read_text() == "x\n"


def has_ended(root: Path, stop: Path) -> bool:
    """Let a filter that reads a FIFO go on; return whether all processes of a place have ended."""
    os.close(os.open(stop, os.O_RDWR))
    return not is_at_work(root)


def landing_that_waits(world: World, tmp_path: Path) -> "tuple[subprocess.Popen[bytes], Path]":
    """Begin a landing whose git waits while it writes files; return it and its release function."""
    gate, begun = tmp_path / "gate", tmp_path / "begun"
    os.mkfifo(gate)
    os.mkfifo(begun)
    files = {".gitattributes": "slow filter=slow\n", "a": "1\n", "slow": "x\n", "z": "1\n"}
    world.approved("auth", "login", files)
    once = f"test -e {gate}-off || {{ echo $PPID >{begun}; cat {gate}; }}; cat"
    world.git("config", "filter.slow.smudge", once)
    merge = subprocess.Popen(
        world.argv("merge", "auth"), cwd=world.root, start_new_session=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    (tmp_path / "git").write_text(begun.read_text())
    Path(f"{gate}-off").touch()
    return merge, gate


def test_git_outlives_a_killed_landing(world: World, tmp_path: Path) -> None:
    """No command rolls back a landing while its git runs; git ends and the landing is recorded."""
    merge, gate = landing_that_waits(world, tmp_path)
    os.killpg(merge.pid, signal.SIGKILL)
    merge.wait()
    recover_all(world.session())
    assert world.query("SELECT kind FROM operations WHERE status = 'open'") == [("merge",)]
    gate.write_text("")
    wait_until(lambda: not is_at_work(world.root))
    recover_all(world.session())
    assert world.states("auth", "login") == ("COMPLETED", "COMPLETED")
    assert world.show("slow") == "x"
    assert world.git("status", "--porcelain") == ""
    require_free_way(world)


def test_git_killed_with_its_landing(world: World, tmp_path: Path) -> None:
    """A killed git's changes in the target's checkout are reported, reverted, and land later."""
    merge, gate = landing_that_waits(world, tmp_path)
    os.killpg(merge.pid, signal.SIGKILL)
    merge.wait()
    os.kill(int((tmp_path / "git").read_text()), signal.SIGKILL)
    gate.write_text("")
    wait_until(lambda: not is_at_work(world.root))
    lock = world.root / ".git" / "index.lock"
    assert lock.exists()
    assert (world.root / "a").exists()
    (left,) = recover_all(world.session()).left
    assert str(lock) in left.error.message
    assert lock.exists()
    lock.unlink()
    assert recover_all(world.session()).left == []
    assert world.git("status", "--porcelain") == ""
    assert not (world.root / "a").exists()
    assert world.states("auth", "login") == ("APPROVED", "AWAITING_APPROVAL")
    world.land("auth")
    assert world.show("slow") == "x"
