"""Verify takes a parked worktree if one exists: exact, without our hooks or caches of others."""

import os
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.model.ids import Oid
from gitworker.repo.pool.parked import list_names, list_parked
from gitworker.session import Session
from gitworker.verify.verify import Verdict, Verifier
from gitworker.worktrees.pool.hand_out import open_pool
from gitworker.worktrees.pool.keep_ready import keep_pool
from gitworker.worktrees.pool.pool import lender
from tests.verify.scene import EXACT, output, run
from tests.workers.world import World, is_at_work, wait_until

COMMIT = "git config --get-regexp 'core.hookspath|^hook' ; git commit -q --allow-empty -m probe"


@pytest.fixture
def parking(world: World) -> World:
    """A repository with one parked worktree, and commands that want exactly the commit."""
    world.git("config", "worker.worktree.pool", "1")
    world.git("config", "worker.verify.commands", EXACT)
    keep_pool(world.session())
    return world


def verify(session: Session, commit: str) -> Verdict:
    """Verify a commit in a worktree of the pool, if there is one."""
    with Verifier(session, lend=lender(session)) as verifier:
        return run(verifier, Oid(commit))


def inode_of_parked(world: World) -> int:
    """Return which directory the one parked worktree is."""
    (one,) = list_parked(open_pool(world.session()))
    return os.stat(one.tree).st_ino


def slot(world: World) -> Path:
    """Return the first verify worktree."""
    return world.root / "worktrees/.verify/1"


def test_a_parked_worktree_is_taken(parking: World) -> None:
    """The parked directory itself becomes the verify worktree, and the pool is filled again."""
    parked = inode_of_parked(parking)
    verdict = verify(parking.session(), parking.tip())
    assert verdict.passed, output(verdict)
    assert slot(parking).stat().st_ino == parked
    wait_until(lambda: len(list_parked(open_pool(parking.session()))) == 1)
    assert str(slot(parking)) in parking.git("worktree", "list", "--porcelain")


def test_commits_of_verify_commands_are_not_reported(parking: World) -> None:
    """In a worktree from the pool our hooks are silent, as in one that was made for verify."""
    parking.git("config", "worker.verify.commands", COMMIT)
    before = parking.query("SELECT COUNT(*) FROM messages")
    verdict = verify(parking.session(), parking.tip())
    assert verdict.passed, output(verdict)
    assert "worker-state/hooks" not in output(verdict)
    assert list((parking.state_dir / "spool").iterdir()) == []
    assert parking.query("SELECT COUNT(*) FROM messages") == before


@pytest.mark.parametrize("is_behind", [False, True])
def test_caches_are_left_out(parking: World, is_behind: bool) -> None:
    """A verify worktree has no ignored file of an earlier task, even if verify.keep names it."""
    (one,) = list_parked(open_pool(parking.session()))
    Repo(Path(one.tree)).write({"x.o": "of a task", "kept.o": "of a task"})
    parking.git("config", "worker.verify.keep", "kept.o")
    if is_behind:
        parking.advance({"later": "1\n"})
    verdict = verify(parking.session(), parking.tip())
    assert verdict.passed, output(verdict)
    assert not (slot(parking) / "x.o").exists()


def test_a_changed_parked_worktree_is_not_taken(parking: World) -> None:
    """A parked worktree with an untracked file is moved to the trash; a fresh one is verified."""
    (one,) = list_parked(open_pool(parking.session()))
    Repo(Path(one.tree)).write({"new": "mine\n"})
    verdict = verify(parking.session(), parking.tip())
    assert verdict.passed, output(verdict)
    wait_until(lambda: not is_at_work(parking.root))  # nothing else is being deleted
    found = (parking.root / "worktrees/.trash").rglob("new")
    assert [path.read_text() for path in found] == ["mine\n"]


@pytest.mark.parametrize("point", ["pool.lent", "pool.moved", "pool.handed"])
def test_a_kill_while_it_is_lent(parking: World, point: str) -> None:
    """Whatever a killed verify has taken is in the trash or its own; the next one passes."""
    done = parking.drive("verify", GITWORKER_CRASH_AT=point)
    assert done.returncode == -9, (done.stdout, done.stderr)
    verdict = verify(parking.session(), parking.tip())
    assert verdict.passed, output(verdict)
    keep_pool(parking.session())
    pool = open_pool(parking.session())
    wait_until(lambda: len(list_names(pool)) == 1)
    assert [one.commit for one in list_parked(pool)] == [parking.tip()]
    (place,) = parking.git("worktree", "list", "--porcelain").split("worktree ")[2:]
    assert place.startswith(str(slot(parking)))
