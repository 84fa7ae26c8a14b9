"""fail, retries with their back-off, and recover."""

import os

import pytest

from gitworker import clock
from gitworker.errors import Refused
from gitworker.journal.sweep import sweep
from gitworker.lifecycle.fail import fail, recover
from gitworker.lifecycle.moves import advance
from gitworker.lifecycle.runs import settle_runs
from gitworker.lifecycle.stale_and_retry import expire_lost
from gitworker.liveness.process_origin import this_origin
from gitworker.model.run_outcome import RunOutcome
from gitworker.model.worker import WorkerEvent
from gitworker.processes.table import find_start
from gitworker.states.engine import InvalidTransition
from gitworker.store.records.run_results import RunReportRow, record_report
from gitworker.store.records.runs import (
    Run,
    begin_run,
    claim_orphan,
    end_run,
    open_runs,
    record_stop,
)
from gitworker.workers.cancel import reset
from tests.workers.world import World, unchanged


def later(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the wall clock so many seconds ahead."""
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + int(seconds * 1000)))


def test_a_clock_that_was_set_back(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that failed in the future is tried again, not in a day."""
    world.working("auth", "login", {"a": "1\n"})
    later(monkeypatch, 86_400)
    fail(world.session(), "auth", reason="no")
    monkeypatch.delenv("GITWORKER_CLOCK_MS")
    assert world.task("login").status == "FAILED"
    sweep(world.session())
    assert world.task("login").status == "READY"


def test_fail(world: World) -> None:
    """A failed worker shows its reason; its task waits for a retry, branch and worktree stay."""
    place = world.working("auth", "login", {"a": "1\n"})
    failed = fail(world.session(), "auth", reason="no network")
    assert failed.last_error == world.task("login").last_error == "no network"
    assert world.states("auth", "login") == ("FAILED", "FAILED")
    assert (failed.task_id, world.task("login").assigned_agent_id) == ("login", None)
    assert world.query("SELECT * FROM task_claims") == []
    assert place.is_dir()
    assert world.messages("task_failed") == [{"reason": "no network", "branch": "auth/login"}]
    assert world.view("auth")["last_error"] == "no network"


@pytest.mark.parametrize("stage", ["spawn", "in_review"])
def test_fail_at_other_stages(world: World, stage: str) -> None:
    """A worker can fail before it starts and during its review."""
    files = () if stage == "spawn" else ({"a": "1\n"},)
    getattr(world, stage)("auth", "login", *files)
    assert fail(world.session(), "auth", reason="no").state == "FAILED"


def test_fail_of_a_landed_worker(world: World) -> None:
    """Landed work cannot fail."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    with unchanged(world, "invalid_transition", InvalidTransition):
        fail(world.session(), "auth", reason="no")


def test_retry_after_the_back_off(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed task is READY again when its back-off is over, and not before."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no")
    due_ms = world.task("login").resume_after_ms or 0
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(due_ms - 1))
    sweep(world.session())
    assert world.task("login").status == "FAILED"
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(due_ms))
    sweep(world.session())
    task = world.task("login")
    assert (task.status, task.retry_count, task.resume_after_ms) == ("READY", 1, None)
    world.spawn("docs", "login")


def test_back_off_doubles(world: World) -> None:
    """Each failure waits twice as long as the one before."""
    waits = []
    for attempt in range(3):
        name = f"auth-{attempt}"
        world.working(name, "login", {"a": f"{attempt}\n"})
        before = clock.now_ms()
        fail(world.session(), name, reason="no")
        waits.append(round(((world.task("login").resume_after_ms or 0) - before) / 60_000))
    assert waits == [1, 2, 4]


def test_no_retries_left(world: World) -> None:
    """The last allowed failure blocks the task, which is not assigned any more."""
    world.git("config", "worker.task.max-retries", "1")
    for name in ("auth", "docs"):
        world.working(name, "login", {"a": f"{name}\n"})
        fail(world.session(), name, reason="no")
    assert world.states("docs", "login") == ("FAILED", "BLOCKED")
    assert world.view("docs")["attempt"] == world.view("docs")["max_attempts"] == 2
    with unchanged(world, kind=Refused) as caught:
        world.spawn("zoe", "login")
    assert caught.value.hint == "git worker task restart login"


def test_same_worker_again(world: World) -> None:
    """A failed worker is reset and may try the same task again, on a branch of the same name."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no")
    reset(world.session(), "auth")
    world.working("auth", "login", {"b": "2\n"})
    world.submit("auth")
    world.approve("auth")
    world.land("auth")
    assert world.states("auth", "login") == ("COMPLETED", "COMPLETED")
    assert world.view("auth")["attempt"] == 2


def test_recover_at_work(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that went stale at work is WORKING again after recover."""
    world.working("auth", "login", {"a": "1\n"})
    later(monkeypatch, 400)
    went_stale(world, "auth")
    recovered = recover(world.session(), "auth")
    assert (recovered.state, recovered.stale_from) == ("WORKING", None)
    assert sweep(world.session()).changed == []


def test_recover_in_review(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow review is IN_REVIEW again after recover."""
    world.in_review("auth", "login", {"a": "1\n"})
    later(monkeypatch, 3601)
    assert sweep(world.session()).changed == ["auth"]
    assert world.worker("auth").stale_from == "IN_REVIEW"
    assert recover(world.session(), "auth").state == "IN_REVIEW"


def test_stale_review_is_approved(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stale review can be approved and landed."""
    world.in_review("auth", "login", {"a": "1\n"})
    later(monkeypatch, 3601)
    sweep(world.session())
    world.approve("auth")
    world.land("auth")
    assert world.worker("auth").stale_from is None


def test_stale_review_that_conflicts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stale review whose rebase conflicts is returned to WORKING."""
    world.in_review("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    later(monkeypatch, 3601)
    sweep(world.session())
    with pytest.raises(Exception, match="conflicts with the target"):
        world.approve("auth")
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")


def test_fail_of_a_stale_worker(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stale worker can be failed."""
    world.working("auth", "login", {"a": "1\n"})
    later(monkeypatch, 400)
    went_stale(world, "auth")
    assert fail(world.session(), "auth", reason="ended").state == "FAILED"


def test_recover_of_a_working_worker(world: World) -> None:
    """A worker that is not stale is not recovered."""
    world.working("auth", "login", {"a": "1\n"})
    before = world.picture()
    assert recover(world.session(), "auth").state == "WORKING"
    assert world.picture() == before


def test_recover_of_a_failed_worker(world: World) -> None:
    """A failed worker is not recovered but resumed, which takes its task back."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no")
    with unchanged(world, "invalid_transition", InvalidTransition) as caught:
        recover(world.session(), "auth")
    assert caught.value.hint == "git worker resume auth"


def test_fail_twice(world: World) -> None:
    """A worker that has failed stays as it is, with its first reason."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no")
    before = world.picture()
    assert fail(world.session(), "auth", reason="another").last_error == "no"
    assert world.picture() == before


def went_stale(world: World, worker: str) -> None:
    """Make a worker stale, as the sweep does once its heartbeats stop."""
    with world.session().store.write() as writer:
        writer.run("workers.set_stale_from", worker=worker, stale_from="WORKING")
        advance(writer, world.worker(worker), WorkerEvent.HEARTBEAT_TIMEOUT, actor="hq")


def begin(world: World) -> Run:
    """Record an open run of auth."""
    process = (os.getpid(), find_start(os.getpid()))
    with world.session().store.write() as writer:
        return begin_run(
            writer, "auth", "login", command="agent", supervisor=process, process=process,
            origin=this_origin(), now=clock.now_ms(),
        )  # fmt: skip


def test_a_run_that_has_ended_meanwhile_is_not_lost(world: World) -> None:
    """An agent and a supervisor that ended as planned after somebody looked were not killed."""
    world.working("auth", "login", {"a": "1\n"})
    session, seen, run = world.session(), world.worker("auth"), begin(world)
    with session.store.write() as writer:
        record_report(writer, run.id, RunReportRow(outcome=RunOutcome.NOTHING))
    assert not expire_lost(session, seen, reason="killed")
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    with session.store.write() as writer:
        record_report(writer, run.id, RunReportRow(outcome=None))
    assert expire_lost(session, seen, reason="killed")
    assert world.states("auth", "login") == ("FAILED", "READY")


def test_an_agent_that_was_ordered_to_end_is_not_lost(world: World) -> None:
    """The end of an ordered agent is left to who gave the order, also if it came after a look."""
    world.working("auth", "login", {"a": "1\n"})
    session, seen, run = world.session(), world.worker("auth"), begin(world)
    with session.store.write() as writer:
        claim_orphan(writer, run.id, after=0)
        record_stop(writer, run.id, why="enough", kill_at_mono_ms=None)
    settle_runs(session, [run])
    assert world.query("SELECT ended_at_ms FROM runs") == [(None,)]
    assert not expire_lost(session, seen, reason="killed")
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    settle_runs(session, open_runs(session.store))
    assert world.query("SELECT reason FROM runs") == [("enough",)]


def test_a_worker_that_goes_on_does_not_fail(world: World) -> None:
    """Who saw an agent end fails neither its next agent nor work that was handed in since."""
    world.working("auth", "login", {"a": "1\n"})
    session, seen, run = world.session(), world.worker("auth"), begin(world)
    assert fail(session, "auth", reason="nothing", seen=seen).state == "WORKING"
    with session.store.write() as writer:
        end_run(writer, run.id, status=0, reason="", now=clock.now_ms())
    world.submit("auth")
    assert fail(session, "auth", reason="nothing", seen=seen).state == "IN_REVIEW"
    assert fail(session, "auth", reason="nothing", seen=world.worker("auth")).state == "FAILED"
