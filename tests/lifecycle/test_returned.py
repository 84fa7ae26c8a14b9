"""The recorded reason for which work was sent back, until it is handed in again."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from gitworker.errors import GitWorkerError
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import recover
from gitworker.model.outcome import NotLanded
from gitworker.progress import Notice
from gitworker.review.comments.send import reject
from gitworker.workers.approve import approve
from gitworker.workers.cancel import cancel, recycle, reset
from gitworker.workers.start import start
from tests.workers.world import World, unchanged


def returned(world: World) -> tuple[str | None, bool, dict[str, Any]]:
    """Return the reason of `auth`, whether it waits for its author, and the details."""
    worker = world.worker("auth")
    return worker.returned_by, worker.waits_for_author, json.loads(worker.returned_detail or "{}")


def test_changes_requested(world: World) -> None:
    """A rejection records the note, the reviewer and the commit, and a hand-in clears them."""
    world.in_review("auth", "login", {"a": "1\n"})
    reject(world.session(), "auth", note="more tests")
    facts = {"note": "more tests", "reviewer": "Ada Tester <ada@example.org>"}
    assert returned(world) == ("changes_requested", True, facts)
    assert world.worker("auth").returned_tip == world.tip("auth/login")
    world.commit("auth", {"b": "1\n"})
    world.submit("auth")
    assert returned(world) == (None, False, {})
    assert world.worker("auth").returned_tip is None


def test_a_conflict(world: World) -> None:
    """A conflict records the files and the commit at which the replay stops."""
    world.in_review("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    with pytest.raises(GitWorkerError):
        approve(world.session(), "auth")
    tip = world.tip("auth/login")
    facts = {"files": ["README"], "commit": tip, "subject": "Work"}
    assert returned(world) == ("merge_conflict", True, facts)
    assert world.worker("auth").returned_tip == tip


def test_a_failed_verification(world: World) -> None:
    """A failed verification records the reason and the log, and is the worker's last error."""
    world.git("config", "worker.verify.commands", "test ! -e bad")
    world.approved("auth", "login", {"bad": "1\n"})
    world.merge("auth")
    reason, waits, facts = returned(world)
    assert (reason, waits) == ("verify_failed", True)
    assert facts["log"].startswith("/")
    assert world.worker("auth").last_error == facts["reason"]
    world.git("rm", "-q", "bad", cwd=world.path("auth"))
    world.commit("auth", {"good": "1\n"})
    world.submit("auth")
    assert (returned(world)[0], world.worker("auth").last_error) == (None, None)


def test_reset_clears_the_error(world: World) -> None:
    """A reset clears the last error."""
    world.git("config", "worker.review.required", "false")
    world.git("config", "worker.task.max-retries", "0")
    world.git("config", "worker.verify.commands", "test ! -e bad")
    world.approved("auth", "login", {"bad": "1\n"})
    world.merge("auth")
    assert world.worker("auth").state == "FAILED"
    assert world.worker("auth").last_error is not None
    assert returned(world) == (None, False, {})
    reset(world.session(), "auth")
    assert world.worker("auth").last_error is None


def test_withdrawn(world: World) -> None:
    """An undone cancel brings the work back to its author."""
    world.working("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    cancel(world.session(), "auth")
    undo(world.session(), None)
    assert returned(world)[:2] == ("withdrawn", True)
    assert world.worker("auth").returned_tip == tip


def conflicting(world: World) -> None:
    """Send work back for a conflict."""
    world.in_review("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    with pytest.raises(GitWorkerError):
        approve(world.session(), "auth")


def unverified(world: World) -> None:
    """Send work back that does not pass the verify commands."""
    world.git("config", "worker.verify.commands", "test ! -e bad")
    world.approved("auth", "login", {"bad": "1\n"})
    world.merge("auth")


def rejected(world: World) -> None:
    """Send work back with a note."""
    world.in_review("auth", "login", {"a": "1\n"})
    reject(world.session(), "auth", note="more tests")


@pytest.mark.parametrize(
    ("way", "reason", "command"),
    [
        (rejected, "changes requested: more tests", "git worker resume auth"),
        (conflicting, "conflict in README", "git worker sync --as auth"),
        (unverified, "verification failed: ", "git worker resume auth"),
    ],
)
def test_a_verdict_on_returned_work(
    world: World, way: Callable[[World], None], reason: str, command: str
) -> None:
    """The refusal says that the work waits for its author and why, and continues it."""
    way(world)
    begin = f"worker auth waits for its author ({reason}"
    with unchanged(world, "invalid_transition") as refused:
        world.approve("auth")
    assert refused.value.message.startswith(begin)
    assert refused.value.message.endswith("), so there is nothing to approve")
    assert refused.value.hint == command
    (outcome,) = world.merge("auth")
    assert isinstance(outcome, NotLanded)
    assert outcome.error.message.startswith(begin)
    assert outcome.error.message.endswith("), so it cannot land")
    assert outcome.error.hint == command


@pytest.mark.parametrize(
    ("way", "reason", "command"),
    [
        (rejected, "changes requested: more tests", "git worker resume auth"),
        (conflicting, "conflict in README", "git worker sync --as auth"),
        (unverified, "verification failed: ", "git worker resume auth"),
    ],
)
def test_freeing_returned_work(
    world: World, way: Callable[[World], None], reason: str, command: str
) -> None:
    """`reset`, `recycle`, `recover` and `assign` say that it waits, why, and how to continue."""
    way(world)
    begin = f"worker auth waits for its author ({reason}"
    for verb in (reset, recycle):
        with unchanged(world, "invalid_transition") as refused:
            verb(world.session(), "auth")
        assert refused.value.message.startswith(begin)
        assert refused.value.hint == f"{command}   # to free it: git worker cancel auth"
    with unchanged(world, "refused") as refused:
        world.spawn("auth", "next")
    assert refused.value.message.startswith(f"worker auth holds task login and {begin[12:]}")
    assert refused.value.hint == command
    notices: list[Notice] = []
    session = world.session()._replace(report=notices.append)
    recover(session, "auth")
    (notice,) = notices
    assert notice.text.startswith(begin)
    assert notice.text.endswith(f"): nothing to recover; to continue it: {command}")


def test_a_verdict_on_work_with_a_process(world: World) -> None:
    """While another process of the worker runs, it is at work: that process reads the verdict."""
    world.spawn("auth", "login")
    with subprocess.Popen(["sleep", "600"]) as process:
        start(world.session(), "auth", pid=process.pid)
        world.commit("auth", {"a": "1\n"})
        world.submit("auth")
        reject(world.session(), "auth", note="more tests")
        with pytest.raises(GitWorkerError, match="worker auth is at work, so"):
            world.approve("auth")
        process.kill()
    with pytest.raises(GitWorkerError, match="worker auth waits for its author"):
        world.approve("auth")
