"""Undo of a removal whose task has gone on since: nothing of the later work is touched."""

import pytest

from gitworker.errors import Conflict
from gitworker.lifecycle.fail import fail
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.workers.cancel import cancel
from gitworker.workers.start import resume
from gitworker.worktrees.removal import WorkerToRemove, plan_removals
from tests.cli.kit import ok, run
from tests.workers.world import World


def freed(world: World) -> None:
    """Let a worker fail at a task whose retry comes at once, and free it."""
    world.git("config", "worker.task.retry-delay-s", "0")
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no")
    ok(world.root, "reset", "auth")


def test_the_worker_has_the_task_again(world: World) -> None:
    """A killed undo that is finished later leaves the branch of the new start alone."""
    freed(world)
    assert world.drive("undo", GITWORKER_CRASH_AT="undo.journal").returncode == -9
    with hold(world.session().landing_lock, name="landing"):  # nobody can finish the undo now
        world.spawn("auth", "login")
    tip = world.tip("auth/login")
    run(world.root, "status")
    run(world.root, "recover")
    assert world.git("rev-parse", "--verify", "HEAD", cwd=world.path("auth")) == tip
    assert world.tip("auth/login") == tip
    assert world.query("SELECT COUNT(*) FROM operations WHERE status = 'open'") == [(0,)]


def test_another_worker_has_done_the_task(world: World) -> None:
    """The task of a freed worker is not opened again once it has landed."""
    freed(world)
    (number,) = world.query("SELECT id FROM operations WHERE kind = 'reset'")
    world.approved("bob", "login", {"b": "1\n"})
    world.land("bob")
    refused = run(world.root, "undo", str(number[0]))
    assert "task login is completed now" in refused.err
    assert world.task("login").status == "COMPLETED"


def test_a_worker_that_went_on_during_the_rescue(world: World) -> None:
    """A worker that is at work again keeps its worktree, and no operation stays open."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no")
    before = world.worker("auth")
    resume(world.session(), "auth")
    with pytest.raises(Conflict, match="has changed meanwhile"):
        plan_removals(world.session(), [WorkerToRemove(before)], "reset")
    assert world.path("auth").exists()
    assert world.query("SELECT COUNT(*) FROM operations WHERE status = 'open'") == [(0,)]


def test_a_worker_that_has_another_task(world: World) -> None:
    """A cancel for a task does not end the next one of its worker."""
    world.working("auth", "menu", {"a": "1\n"})
    with pytest.raises(Conflict, match="does not have task login any more"):
        cancel(world.session(), "auth", task="login")
    assert world.states("auth", "menu") == ("WORKING", "IN_PROGRESS")
