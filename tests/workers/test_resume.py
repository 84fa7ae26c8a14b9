"""resume: failed, stale and returned work is taken up in place."""

import os
import subprocess

import pytest

from fixtures.repos import Repo
from gitworker import clock
from gitworker.claims.leases import take_claim
from gitworker.errors import Conflict, Refused
from gitworker.fsck.fsck import run_repair
from gitworker.journal.sweep import sweep
from gitworker.lifecycle.fail import fail, stop
from gitworker.review.comments.send import reject
from gitworker.states.engine import InvalidTransition
from gitworker.store.rules_leases import LeaseLength
from gitworker.store.workers import set_returned
from gitworker.workers.cancel import cancel
from gitworker.workers.start import resume, start
from tests.workers.world import World, unchanged

LATE_S = 7 * 24 * 3600


def failed(world: World, reason: str = "no network") -> None:
    """Make a worker with a commit and uncommitted work that has failed."""
    place = world.working("auth", "login", {"a": "1\n"})
    Repo(place).write({"a": "2\n", "b": "new\n"})
    fail(world.session(), "auth", reason=reason)


def silence(world: World, monkeypatch: pytest.MonkeyPatch, times: int = 1) -> None:
    """Let a worker's process end, let time pass, and apply what is due."""
    ended = subprocess.Popen(["sleep", "600"])
    start(world.session(), "auth", pid=ended.pid)
    ended.kill()
    ended.wait()
    monkeypatch.setattr("gitworker.clock.boot_id", lambda: "another boot")
    for number in range(1, times + 1):
        monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + number * LATE_S * 1000))
        sweep(world.session())


def test_resume_after_a_failure(world: World) -> None:
    """Branch, worktree and uncommitted files are as they were; task and claim are held again."""
    failed(world)
    before = world.picture()
    resumed = resume(world.session(), "auth", pid=os.getpid())
    assert (resumed.pid, resumed.last_error) == (os.getpid(), None)
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    assert world.task("login").assigned_agent_id == "auth"
    assert world.query("SELECT task_id, claimed_by FROM task_claims") == [("login", "auth")]
    after = world.picture()
    assert [after[name] for name in ("refs", "status", "worktrees")] == [
        before[name] for name in ("refs", "status", "worktrees")
    ]
    assert world.task("login").retry_count == 0
    assert world.submit("auth", commit_message="The rest").commits == 2


@pytest.mark.parametrize("end", ["retried", "blocked", "stopped"])
def test_resume_whatever_the_task_waits_for(
    world: World, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """A task that was retried, that has no retry left or that was stopped is taken back."""
    if end == "blocked":
        world.git("config", "worker.task.max-retries", "0")
    if end == "stopped":
        world.working("auth", "login", {"a": "1\n"})
        stop(world.session(), "auth", reason="enough")
    else:
        failed(world)
    if end == "retried":
        monkeypatch.setenv("GITWORKER_CLOCK_MS", str(world.task("login").resume_after_ms))
        sweep(world.session())
        assert world.task("login").status == "READY"
    resume(world.session(), "auth", pid=os.getpid())
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")


def test_resume_is_refused_while_another_worker_holds_the_task(world: World) -> None:
    """A task that another worker has by now stays with that worker, which is named."""
    failed(world)
    world.git("config", "worker.task.retry-delay-s", "0")
    world.spawn("docs", "login")
    with unchanged(world, "task_taken") as caught:
        resume(world.session(), "auth", pid=os.getpid())
    assert "worker docs holds it now" in caught.value.message
    assert caught.value.hint == "git worker show docs"


def test_resume_is_refused_while_the_task_is_claimed(world: World) -> None:
    """A claim of another agent on the task counts as well."""
    failed(world)
    with world.session().store.write() as writer:
        take_claim(writer, "login", "docs", length=LeaseLength(60_000))
    with unchanged(world, kind=Conflict) as caught:
        resume(world.session(), "auth", pid=os.getpid())
    assert "docs" in caught.value.message


def test_resume_of_an_ended_task(world: World) -> None:
    """A task that was cancelled in the meantime is not taken up; reset frees the worker."""
    failed(world)
    world.spawn("docs", "login")
    cancel(world.session(), "docs")
    with unchanged(world, "refused") as caught:
        resume(world.session(), "auth", pid=os.getpid())
    assert "the task was cancelled" in caught.value.message
    assert caught.value.hint == "git worker reset auth"


@pytest.mark.parametrize(("times", "state"), [(1, "STALE"), (2, "FAILED")])
def test_resume_after_silence(
    world: World, monkeypatch: pytest.MonkeyPatch, times: int, state: str
) -> None:
    """A worker that became stale, or failed by its silence, is at work again."""
    world.working("auth", "login", {"a": "1\n"})
    silence(world, monkeypatch, times)
    assert world.worker("auth").state == state
    resume(world.session(), "auth", pid=os.getpid())
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    assert world.worker("auth").stale_from is None


def test_start_resumes(world: World) -> None:
    """The ordinary `start` takes up failed work as well."""
    failed(world)
    assert start(world.session(), "auth", pid=os.getpid()).state == "WORKING"


def test_resume_of_a_slow_review(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that became stale in review is in review again."""
    world.in_review("auth", "login", {"a": "1\n"})
    monkeypatch.setenv("GITWORKER_CLOCK_MS", str(clock.now_ms() + LATE_S * 1000))
    sweep(world.session())
    assert world.worker("auth").state == "STALE"
    assert resume(world.session(), "auth", pid=os.getpid()).state == "IN_REVIEW"


def test_resume_of_returned_work(world: World) -> None:
    """Work that was sent back waits for its author no longer, and gets a new process."""
    world.in_review("auth", "login", {"a": "1\n"})
    reject(world.session(), "auth", note="more tests")
    with world.session().store.write() as writer:
        set_returned(writer, "auth", reason="changes_requested", tip="", detail={})
    resumed = resume(world.session(), "auth", pid=os.getpid())
    assert (resumed.state, resumed.waits_for_author) == ("WORKING", False)
    assert resumed.returned_by == "changes_requested"


@pytest.mark.parametrize("stage", ["in_review", "approved"])
def test_resume_of_work_that_is_judged(world: World, stage: str) -> None:
    """Work that waits for others is not taken up; rejecting it returns it."""
    getattr(world, stage)("auth", "login", {"a": "1\n"})
    with unchanged(world, "invalid_transition", InvalidTransition) as caught:
        resume(world.session(), "auth", pid=os.getpid())
    assert caught.value.hint == "git worker reject auth -m <text>"


def test_resume_without_a_worktree(world: World) -> None:
    """A worker whose worktree was removed cannot continue until the named repair creates it."""
    failed(world)
    place = world.path("auth")
    world.git("worktree", "remove", "--force", "--force", str(place))
    with unchanged(world, "worktree_gone", Refused) as caught:
        resume(world.session(), "auth", pid=os.getpid())
    assert caught.value.hint == "git worker fsck --repair"
    assert run_repair(world.session()).left.findings == ()
    assert resume(world.session(), "auth", pid=os.getpid()).state == "WORKING"
    assert world.path("auth") == place
    assert (place / ".git").is_file()
