"""A worktree is locked (git-worktree(1)) while an agent works in it, and no longer."""

import os
import subprocess
from pathlib import Path

import pytest

from gitworker.errors import Refused
from gitworker.journal.sweep import sweep
from gitworker.journal.undo.undo import undo
from gitworker.paths import (
    LOCK_MARK,
    is_locked_by_user,
    lock_worktree_for_agent,
    unlock_worktree_of_agent,
)
from gitworker.workers.cancel import cancel
from gitworker.workers.start import start
from tests.workers.world import World


def lock_of(world: World, worker: str) -> Path:
    """Return the lock file of a worker's worktree."""
    admin_dir = world.worker(worker).admin_dir
    assert admin_dir is not None
    return Path(admin_dir, "locked")


def started(world: World) -> "subprocess.Popen[bytes]":
    """Start an agent in a worktree: a process that ends when its input does."""
    world.spawn("auth", "login")
    agent = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    start(world.session(), "auth", pid=agent.pid)
    return agent


def end(agent: "subprocess.Popen[bytes]") -> None:
    """Let the agent end."""
    assert agent.stdin is not None
    agent.stdin.close()
    agent.wait(60)


def test_git_leaves_it_alone(world: World) -> None:
    """Neither `git worktree remove` nor `move` takes a worktree away from under an agent."""
    agent = started(world)
    place = world.path("auth")
    assert lock_of(world, "auth").read_text() == f"{LOCK_MARK} (process {agent.pid})\n"
    for words in (["remove", "--force", str(place)], ["move", str(place), f"{place}-2"]):
        done = subprocess.run(
            ["git", "worktree", *words], cwd=world.root, check=False, capture_output=True, text=True
        )
        assert done.returncode != 0
        assert LOCK_MARK in done.stderr
    end(agent)


def test_the_end_unlocks(world: World) -> None:
    """If an agent ended unobserved, any command unlocks its worktree."""
    agent = started(world)
    sweep(world.session())
    assert lock_of(world, "auth").exists()
    end(agent)
    sweep(world.session())
    assert not lock_of(world, "auth").exists()


def test_our_lock_stops_none_of_ours(world: World) -> None:
    """Removing, restoring and moving aside depend on live agents, not on our own lock."""
    agent = started(world)
    cancel(world.session(), "auth")
    undo(world.session())
    assert not lock_of(world, "auth").exists()
    end(agent)


def test_a_lock_of_the_users(world: World) -> None:
    """A lock that the user made stays, keeps the worktree, and is never replaced by ours."""
    world.spawn("auth", "login")
    world.git("worktree", "lock", "--reason", "mine", str(world.path("auth")))
    start(world.session(), "auth", pid=os.getpid())
    assert lock_of(world, "auth").read_text().strip() == "mine"
    with pytest.raises(Refused) as caught:
        cancel(world.session(), "auth")
    assert caught.value.code == "worktree_locked"
    unlock_worktree_of_agent(str(lock_of(world, "auth").parent))
    assert lock_of(world, "auth").read_text().strip() == "mine"


def test_locks_by_hand(tmp_path: Path) -> None:
    """A lock names its process, gives way to the next agent's, and only its own process ends it."""
    admin = str(tmp_path)
    lock_worktree_for_agent(admin, 1)
    assert not is_locked_by_user(admin)
    lock_worktree_for_agent(admin, 2)
    unlock_worktree_of_agent(admin, 1)
    assert (tmp_path / "locked").read_text() == f"{LOCK_MARK} (process 2)\n"
    unlock_worktree_of_agent(admin, 2)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "locked").touch()
    assert is_locked_by_user(admin)
    lock_worktree_for_agent(f"{admin}/none", 1)
