"""sync: a real rebase in the worker's own worktree, with its conflicts."""

import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Conflict, GitWorkerError, NotFound
from gitworker.liveness.process_origin import this_origin
from gitworker.observe.inbox.needs import read_needs
from gitworker.processes.table import find_start
from gitworker.repo.status.checkout_status import open_operation
from gitworker.store.workers import set_process
from gitworker.workers.sync import sync
from tests.hints.following import Printed, follow, note
from tests.landing.test_merge_cleanup import HOLD
from tests.workers.world import World, unchanged


def conflicted(world: World) -> Path:
    """Bring a worker to a rebase that stops."""
    place = world.working("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    with pytest.raises(Conflict) as caught:
        sync(world.session(place))
    assert caught.value.code == "rebase_conflict"
    assert caught.value.detail == "  README"
    return place


def test_sync(world: World) -> None:
    """The branch is based on the target afterwards, and the bus does not report the rebase."""
    place = world.working("auth", "login", {"a": "1\n"})
    old = world.tip("auth/login")
    target = world.advance({"b": "2\n"})
    done = sync(world.session(place))
    assert (done.old, done.new, done.target) == (old, world.tip("auth/login"), target)
    assert world.tip("auth/login~1") == target
    assert (place / "b").read_text() == "2\n"
    assert [progress["commit"] for progress in world.messages("task_progress")] == [old]


def test_the_replaced_commits_are_kept(world: World) -> None:
    """The commits that a rebase replaces stay under a rescue ref, once, however it ends."""
    world.working("bob", "other", {"c": "1\n"})
    kept = world.tip("bob/other")
    world.advance({"b": "2\n"})
    sync(world.session(world.path("bob")))
    place = conflicted(world)
    tip = world.tip("auth/login")
    Repo(place).write({"README": "both\n"})
    world.git("add", "README", cwd=place)
    sync(world.session(place), "continue")
    rescues = {ref: oid for ref, oid in world.refs().items() if ref.startswith("refs/worker/")}
    assert rescues == {
        "refs/worker/rescue/auth/login/1": tip,
        "refs/worker/rescue/bob/other/1": kept,
    }


def test_nothing_to_do(world: World) -> None:
    """A branch that is based on the target already does not move."""
    place = world.working("auth", "login", {"a": "1\n"})
    done = sync(world.session(place))
    assert done.old == done.new


def test_continue(world: World) -> None:
    """A conflict that the agent resolved is continued, and the work can be submitted."""
    place = conflicted(world)
    Repo(place).write({"README": "both\n"})
    world.git("add", "README", cwd=place)
    done = sync(world.session(place), "continue")
    assert world.show("README", done.new) == "both"
    world.submit("auth")
    world.approve("auth")
    world.land("auth")
    assert world.show("README") == "both"


def test_abort(world: World) -> None:
    """An aborted rebase leaves the branch at its old commit."""
    place = world.working("auth", "login", {"README": "mine\n"})
    old = world.tip("auth/login")
    world.advance({"README": "theirs\n"})
    with pytest.raises(Conflict):
        sync(world.session(place))
    done = sync(world.session(place), "abort")
    assert done.new == old == world.tip("auth/login")
    assert open_operation(world.worker("auth").admin_dir or "") is None


def test_abort_keeps_the_resolution(world: World) -> None:
    """The resolution in an aborted rebase, staged or not, is kept under a rescue ref."""
    place = conflicted(world)
    Repo(place).write({"README": "both\n", "notes": "new\n"})
    world.git("add", "README", cwd=place)
    Repo(place).write({"README": "both, better\n"})
    done = sync(world.session(place), "abort")
    assert done.kept is not None
    assert world.show("README", done.kept) == "both, better"
    assert world.show("README", f"{done.kept}^2") == "both"
    assert world.show("README", "auth/login") == "mine"


def test_abort_keeps_the_commits_of_the_rebase(world: World) -> None:
    """A resolution that is a commit already is kept, too."""
    place = conflicted(world)
    Repo(place).write({"README": "both\n"})
    world.git("add", "README", cwd=place)
    world.git("-c", "core.editor=:", "commit", "-q", "-m", "Both", cwd=place)
    resolved = world.git("rev-parse", "HEAD", cwd=place)
    done = sync(world.session(place), "abort")
    assert done.kept is not None
    assert world.git("rev-parse", f"{done.kept}^2") == resolved


def test_second_sync_in_an_open_rebase(world: World) -> None:
    """A sync in an open rebase names its files, or the command that continues it."""
    place = conflicted(world)
    with unchanged(world, "rebase_conflict", Conflict):
        sync(world.session(place))
    Repo(place).write({"README": "both\n"})
    world.git("add", "README", cwd=place)
    with unchanged(world, "rebase_stopped", Conflict) as caught:
        sync(world.session(place))
    assert caught.value.hint == f"cd {place} && git worker sync --continue   # or: --abort"


@pytest.mark.parametrize("mode", ["continue", "abort"])
def test_without_an_open_rebase(world: World, mode: str) -> None:
    """Without an open rebase there is nothing to continue or to abort."""
    place = world.working("auth", "login", {"a": "1\n"})
    with unchanged(world, "no_rebase"):
        sync(world.session(place), mode)


def test_uncommitted_work(world: World) -> None:
    """git refuses to begin over uncommitted work; its message is passed on, nothing is stashed."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    Repo(place).write({"a": "changed\n"})
    world.git("config", "rebase.autoStash", "true")
    with unchanged(world) as caught:
        sync(world.session(place))
    assert "unstaged changes" in caught.value.detail
    assert f"cd {place} && git commit -am" in (caught.value.hint or "")
    assert (place / "a").read_text() == "changed\n"


def test_outside_a_worktree(world: World) -> None:
    """Outside every worker's worktree there is no branch to rebase."""
    world.working("auth", "login", {"a": "1\n"})
    with unchanged(world, "not_found", NotFound):
        sync(world.session())


def test_under_a_running_agent(world: World) -> None:
    """No rebase begins from outside in the worktree of a running agent; its agent is asked."""
    place = world.in_review("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    with pytest.raises(Conflict):
        world.approve("auth")
    request = "git worker send auth 'Your branch conflicts: run git worker sync'"
    agent = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE)
    try:
        with world.session().store.write() as writer:
            set_process(
                writer, "auth", pid=agent.pid, start=find_start(agent.pid), origin=this_origin()
            )
        with unchanged(world, "agent_runs") as caught:
            sync(world.session(identity="auth"))
        assert caught.value.hint == request
        assert follow(Printed([], str(world.root)), request) is None
        note(request, str(caught.value))
        (need,) = read_needs(world.session(), limit=9).items
        assert (need.kind, need.command) == ("returned", request)
        with pytest.raises(Conflict):
            sync(world.session(place))
    finally:
        agent.communicate(b"")
    assert sync(world.session(identity="auth"), "abort").new == world.tip("auth/login")


def test_without_its_worktree(world: World) -> None:
    """A worker whose worktree was deleted cannot rebase there."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("worktree", "remove", "--force", "--force", str(place))
    with unchanged(world, "worktree_gone") as caught:
        sync(world.session(identity="auth"))
    assert caught.value.hint == "git worker fsck --repair"


def test_approval_waits_for_an_open_rebase(world: World) -> None:
    """Work in conflict cannot be submitted."""
    conflicted(world)
    with unchanged(world, "operation_open"):
        world.submit("auth")


@pytest.mark.parametrize("deleted", ["main", "auth/login"])
def test_deleted_branch(world: World, deleted: str) -> None:
    """If the target or the worker's own branch was deleted, the message names that branch."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("checkout", "-q", "--detach")
    world.git("branch", "-m", deleted, "kept")
    with pytest.raises(GitWorkerError, match=deleted) as caught:
        sync(world.session(place))
    assert caught.value.code in ("no_target", "not_found")
    world.git("branch", "-m", "kept", deleted)
