"""Sequences of ordinary work, after which fsck and doctor report nothing."""

import os
from collections.abc import Callable

import pytest

from fixtures.repos import Repo
from gitworker.fsck.doctor import read_doctor
from gitworker.fsck.finding import Level
from gitworker.fsck.fsck import run_fsck
from gitworker.journal.gc.gc import gc, gc_request
from gitworker.journal.sweep import sweep
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import fail
from gitworker.workers.cancel import cancel, reset
from gitworker.workers.start import start
from tests.workers.dirty_worktree import make_dirty
from tests.workers.world import World

Life = Callable[[World], object]


def failed(world: World) -> None:
    """Fail."""
    make_dirty(world, world.working("auth", "login", {"a": "1\n"}))
    fail(world.session(), "auth", reason="stuck")


def retried(world: World) -> None:
    """Fail, and let another worker take the task after its back-off."""
    failed(world)
    due_ms = world.task("login").resume_after_ms or 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITWORKER_CLOCK_MS", str(due_ms))
        sweep(world.session())
        world.spawn("docs", "login")
        start(world.session(), "docs", pid=os.getpid())


def amended(world: World) -> None:
    """Amend a published commit, and reword another."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.session()
    world.drive("sweep")
    (place / "a").write_text("2\n")
    world.git("commit", "-qa", "--amend", "-m", "Other", cwd=place)
    world.drive("sweep")


def amended_unseen(world: World) -> None:
    """Amend a commit before it is published."""
    place = world.working("auth", "login", {"a": "1\n"})
    (place / "a").write_text("2\n")
    world.git("commit", "-qa", "--amend", "-m", "Other", cwd=place)


def collected(world: World) -> None:
    """Land, and let gc delete everything old."""
    make_dirty(world, world.approved("auth", "login", {"a": "1\n"}))
    world.land("auth")
    session = world.session()
    gc(session, gc_request(session, days=0))


def collected_and_back(world: World) -> None:
    """Undo a gc."""
    collected(world)
    undo(world.session())


def cancelled_and_back(world: World) -> None:
    """Cancel and undo."""
    make_dirty(world, world.working("auth", "login", {"a": "1\n"}))
    cancel(world.session(), "auth")
    undo(world.session())


def reset_and_back(world: World) -> None:
    """Fail, reset and undo."""
    failed(world)
    reset(world.session(), "auth")
    undo(world.session())


def adoption_killed(world: World, point: str = "adopt.journal") -> None:
    """Kill an adoption and let the next command recover it."""
    place = world.root.parent / "by-hand"
    Repo(world.root).worktree(place, "-b", "feature").commit("By hand", {"hand": "1\n"})
    world.session()
    killed = world.drive("adopt", str(place), "auth", "login", GITWORKER_CRASH_AT=point)
    assert killed.returncode == -9, killed.stderr
    assert world.drive("recover_all").returncode == 0


def adoption_recorded(world: World) -> None:
    """Kill an adoption after its last step."""
    adoption_killed(world, "adopt.recorded")


def stacked(world: World) -> None:
    """Stack a worker on another and land both."""
    world.working("auth", "login", {"a": "1\n"})
    world.spawn("ui", "form", start="auth")
    start(world.session(), "ui", pid=os.getpid())
    world.commit("ui", {"u": "1\n"})
    world.submit("auth")
    world.approve("auth")
    world.submit("ui")
    world.approve("ui")
    world.merge("auth", "ui")


def kept(world: World) -> None:
    """Land with the worktree kept, and begin the next task."""
    world.approved("auth", "login", {"a": "1\n"})
    world.advance({"theirs": "1\n"})
    world.land("auth", keep=True)
    world.spawn("auth", "next")


def amended_and_landed(world: World) -> None:
    """Amend a published commit, and land."""
    amended(world)
    world.submit("auth")
    world.approve("auth")
    world.land("auth")


def amended_and_cancelled(world: World) -> None:
    """Amend a published commit, and cancel."""
    amended(world)
    cancel(world.session(), "auth")


def reset_away(world: World) -> None:
    """Reset a published commit away, and run no other command."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.session()
    world.drive("sweep")
    world.git("reset", "-q", "--hard", "HEAD~1", cwd=place)


def many_commits(world: World) -> None:
    """Commit, revert and rebase by hand."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.commit("auth", {"b": "1\n"})
    world.git("revert", "--no-edit", "HEAD", cwd=place)
    world.advance({"theirs": "1\n"})
    world.drive("sweep")
    world.git("rebase", "-q", "main", cwd=place)
    world.drive("sweep")


LIVES = (
    failed, retried, amended, amended_unseen, amended_and_landed,
    amended_and_cancelled, reset_away, collected, collected_and_back, cancelled_and_back,
    reset_and_back, adoption_killed, adoption_recorded, stacked, kept, many_commits,
)  # fmt: skip


@pytest.mark.parametrize("life", LIVES)
def test_ordinary_work_has_no_findings(world: World, life: Life) -> None:
    """fsck and doctor report nothing after ordinary work."""
    life(world)
    assert run_fsck(world.session()).findings == ()
    complaints = [one for one in read_doctor(world.session()).findings if one.level is not Level.OK]
    assert complaints == []
