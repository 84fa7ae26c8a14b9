"""fsck has no findings after ordinary work, also once git has deleted unreachable objects."""

from collections.abc import Callable

import pytest

from gitworker.bus.drain import drain
from gitworker.fsck.fsck import run_fsck
from gitworker.journal.gc.gc import gc, gc_request
from gitworker.lifecycle.fail import fail
from tests.workers.world import World


def amend(world: World) -> None:
    """Amend the published commit, as its author does, and publish that."""
    world.git("commit", "-q", "--amend", "-m", "Amended", cwd=world.path("auth"))
    drain(world.session())


def amended_at_work(world: World) -> None:
    """Amend at work."""
    world.working("auth", "login", {"a": "1\n"})
    drain(world.session())
    amend(world)


def reset_at_work(world: World) -> None:
    """Drop a published commit and go on."""
    amended_at_work(world)
    world.commit("auth", {"b": "1\n"}, "Dropped")
    drain(world.session())
    world.git("reset", "-q", "--hard", "HEAD~1", cwd=world.path("auth"))
    drain(world.session())


def amended_in_review(world: World) -> None:
    """Amend what was handed in."""
    world.in_review("auth", "login", {"a": "1\n"})
    amend(world)


def amended_after_approval(world: World) -> None:
    """Amend after an approval that has rebased the branch."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"theirs": "1\n"})
    world.approve("auth")
    amend(world)


def amended_and_landed(world: World) -> None:
    """Amend at work, then land."""
    amended_at_work(world)
    world.submit("auth")
    world.approve("auth")
    world.land("auth")


def waiting_for_a_retry(world: World) -> None:
    """Fail; the task waits for its retry."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="stuck")


def collected(world: World) -> None:
    """Land a replayed branch, and delete the rescue ref of its patch-identical commits."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"theirs": "1\n"})
    world.approve("auth")
    world.land("auth")
    session = world.session()
    gc(session, gc_request(session, days=0))


@pytest.mark.parametrize(
    "work",
    [
        amended_at_work, reset_at_work, amended_in_review, amended_after_approval,
        amended_and_landed, waiting_for_a_retry, collected,
    ],
)  # fmt: skip
def test_silent(world: World, work: Callable[[World], None]) -> None:
    """No check complains, before and after the reflogs and unreachable objects are deleted."""
    work(world)
    assert run_fsck(world.session()).findings == ()
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")
    assert run_fsck(world.session()).findings == ()


def test_a_lost_commit_is_found(world: World) -> None:
    """A commit below the tip that vanished is still a finding."""
    world.working("auth", "login", {"a": "1\n"})
    first = world.tip("auth/login")
    world.commit("auth", {"b": "1\n"}, "Second")
    drain(world.session())
    (world.root / ".git/objects" / first[:2] / first[2:]).unlink()
    assert run_fsck(world.session()).findings != ()
