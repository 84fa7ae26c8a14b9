"""A commit or a heartbeat of a worker brings it back to work, unless it failed on purpose."""

import pytest

from gitworker.errors import Refused
from gitworker.journal.sweep import sweep
from gitworker.lifecycle.fail import fail, stop
from gitworker.lifecycle.take_up import publish_commits, take_up_by_heartbeat
from gitworker.store.workers import set_returned
from gitworker.workers.submit import Submission, submit
from gitworker.workers.sync import sync
from tests.lifecycle.test_fail import later
from tests.workers.world import World


def interrupted(world: World, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Make a worker that was interrupted in one of several ways."""
    world.working("auth", "login", {"a": "1\n"})
    if kind == "stale":
        later(monkeypatch, 3600)
        monkeypatch.setattr("gitworker.clock.boot_id", lambda: "another boot")
        sweep(world.session())
    elif kind == "stopped":
        stop(world.session(), "auth", reason="enough")
    else:
        fail(world.session(), "auth", reason="no", on_purpose=kind == "given up")


@pytest.mark.parametrize("kind", ["stale", "failed", "stopped", "given up"])
@pytest.mark.parametrize("sign", ["commit", "heartbeat"])
def test_signs_of_life(world: World, monkeypatch: pytest.MonkeyPatch, kind: str, sign: str) -> None:
    """A sign ends an interruption, but no decision to stop; a commit is published in any case."""
    interrupted(world, monkeypatch, kind)
    before = world.worker("auth")
    assert before.state == ("STALE" if kind == "stale" else "FAILED")
    if sign == "commit":
        world.commit("auth", {"a": "2\n"}, "Second")
        publish_commits(world.session())
        assert world.messages("task_progress")[-1]["subject"] == "Second"
    else:
        take_up_by_heartbeat(world.session(), before)
    is_back = kind in ("stale", "failed")
    assert world.worker("auth").state == ("WORKING" if is_back else before.state)
    assert (world.task("login").status == "IN_PROGRESS") is is_back


@pytest.mark.parametrize("kind", ["stale", "failed", "stopped", "given up"])
def test_only_a_hand_in_takes_up(world: World, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """A refused `done` changes no state; one that succeeds ends any interruption."""
    interrupted(world, monkeypatch, kind)
    before = world.states("auth", "login")
    (world.path("auth") / "b").write_text("not committed\n")
    with pytest.raises(Refused):
        submit(world.session(), "auth", Submission())
    assert world.states("auth", "login") == before
    submit(world.session(), "auth", Submission(commit_message="All of it"))
    assert world.states("auth", "login")[0] == "IN_REVIEW"


def test_a_commit_starts(world: World) -> None:
    """A commit of a worker that has not started starts it, by the worker's own name."""
    world.spawn("auth", "login")
    world.commit("auth", {"a": "1\n"})
    publish_commits(world.session())
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    rows = world.query("SELECT actor FROM transitions WHERE event = 'start'")
    assert rows == [("auth",)]
    assert world.worker("auth").pid is None


def test_a_commit_on_a_task_of_another_worker(world: World) -> None:
    """A commit of a failed worker whose task another worker holds changes no state."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no")
    world.spawn("docs", "login")
    world.commit("auth", {"a": "2\n"}, "Second")
    publish_commits(world.session())
    assert world.worker("auth").state == "FAILED"
    assert world.task("login").assigned_agent_id == "docs"
    assert world.messages("task_progress")[-1]["subject"] == "Second"


def test_a_heartbeat_on_returned_work(world: World) -> None:
    """Work that was sent back waits for its author until a heartbeat arrives."""
    world.working("auth", "login", {"a": "1\n"})
    with world.session().store.write() as writer:
        set_returned(writer, "auth", reason="changes_requested", tip="", detail={})
    take_up_by_heartbeat(world.session(), world.worker("auth"))
    assert not world.worker("auth").waits_for_author


def test_sync_resumes(world: World) -> None:
    """A failed worker that rebases its branch is at work again."""
    place = world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no")
    world.advance({"b": "1\n"})
    sync(world.session(place))
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    assert world.show("b", "auth/login") == "1"
