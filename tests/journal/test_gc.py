"""gc: old rescue refs, trash, verify trees and logs go; nothing that only they hold does."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import GitWorkerError, Refused
from gitworker.fsck.fsck import prove
from gitworker.journal.gc.gc import Collected, gc, gc_daily, preview_gc, wish_of
from gitworker.journal.undo.undo import undo
from gitworker.workers.cancel import cancel
from tests.workers.seat import make_dirty
from tests.workers.world import World, newest, unchanged, wait_until

RESCUE = "refs/worker/rescue/"


def collect(world: World, **wanted: int | bool) -> Collected:
    """Let go of everything that is older than this moment."""
    session = world.session()
    return gc(session, wish_of(session, **{"days": 0, **wanted}))  # type: ignore[arg-type]


def rescues(world: World) -> list[str]:
    """Return the rescue refs there are."""
    return [name.removeprefix(RESCUE) for name in world.refs() if name.startswith(RESCUE)]


def landed_with_a_rebase(world: World) -> None:
    """Land a worker whose branch was replayed by approval and by landing."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"theirs": "1\n"})
    world.approve("auth")
    world.advance({"theirs": "2\n"})
    world.land("auth")
    wait_until(lambda: not trash(world))  # it was clean


def trash(world: World) -> list[Path]:
    """Return the entries of the trash."""
    return sorted((world.root / "worktrees/.trash").glob("[!.]*"))


def test_what_landed_needs_no_rescue(world: World) -> None:
    """Rescue refs of landed work go, and an undo of the gc makes the same ones again."""
    landed_with_a_rebase(world)
    before = world.refs()
    assert rescues(world) == ["auth/login/1", "auth/login/2"]
    done = collect(world)
    assert rescues(world) == []
    assert [item.holds for item in done.choice.going if item.kind == "rescue"] == ["", ""]
    assert prove(world.session()).findings == ()
    again = undo(world.session())
    assert (again.kind, again.number, again.workers) == ("gc", done.number, ())
    assert world.refs() == before
    assert prove(world.session()).findings == ()


def test_a_lock_is_in_the_way_of_the_undo(world: World) -> None:
    """The undo of a gc names the lock that a killed git left, and works once it is gone."""
    landed_with_a_rebase(world)
    before = rescues(world)
    collect(world)
    lock = world.root / ".git" / f"{RESCUE}{before[0]}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    with pytest.raises(GitWorkerError) as caught:
        undo(world.session())
    assert str(lock) in f"{caught.value.message} {caught.value.hint}"
    lock.unlink()
    undo(world.session())
    assert rescues(world) == before


def test_what_was_resolved_by_hand_has_landed(world: World) -> None:
    """A branch that had to be resolved before it landed needs no rescue: our journal says so."""
    landed_with_a_rebase(world)
    world.advance({"a": "by somebody else\n"})
    collect(world)
    assert rescues(world) == []


def test_unlanded_work_stays(world: World) -> None:
    """Cancelled work stays however old it is, unless it is asked for by name, and that is said."""
    world.working("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    cancel(world.session(), "auth")
    done = collect(world)
    assert [item.name for item in done.choice.held] == [f"{RESCUE}auth/login/1"]
    assert rescues(world) == ["auth/login/1"]
    done = collect(world, unlanded=True)
    assert [item.what for item in done.choice.going if item.kind == "rescue"] == [tip]
    assert rescues(world) == []
    undo(world.session())
    assert world.tip(f"{RESCUE}auth/login/1") == tip


def test_uncommitted_work_of_what_landed_stays(world: World) -> None:
    """A snapshot of uncommitted work has not landed with the branch; it stays."""
    make_dirty(world, world.approved("auth", "login", {"a": "1\n"}))
    world.land("auth")
    collect(world)
    assert rescues(world) == ["auth/login/1"]
    assert world.show("new/deep", f"{RESCUE}auth/login/1") == "untracked"


def test_commits_on_a_branch_need_no_rescue(world: World) -> None:
    """What some branch leads to can go."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    world.git("branch", "kept", f"{RESCUE}auth/login/1")
    collect(world)
    assert rescues(world) == []


def test_the_trash_is_emptied(world: World) -> None:
    """A removed worktree goes once its work is under a rescue ref; undo then makes it anew."""
    place = world.working("auth", "login", {"a": "1\n"})
    (place / "new").write_text("untracked\n")
    cancel(world.session(), "auth")
    (entry,) = trash(world)
    done = collect(world)
    assert [item.kind for item in done.choice.going if item.kind == "trash"] == ["trash"]
    assert trash(world) == []
    wait_until(lambda: not list(entry.parent.glob(".doomed-*")))
    assert prove(world.session()).findings == ()
    undo(world.session(), newest(world, "cancel"))
    assert (place / "a").read_text() == "1\n"


def test_what_only_the_trash_holds_stays(world: World) -> None:
    """A removed worktree without a rescue ref, or written to since, or that nobody knows, stays."""
    for name in ("auth", "docs", "web"):
        (world.working(name, f"t-{name}", {name: "1\n"}) / "new").write_text("untracked\n")
        cancel(world.session(), name)
    auth, docs, web = trash(world)
    world.git("update-ref", "-d", f"{RESCUE}auth/t-auth/1")
    late = docs / "tree" / "late"
    late.write_text("written since\n")
    os.utime(late, (time.time() + 60, time.time() + 60))
    record = (web / "record").read_text()
    (web / "record").write_text(record.replace("web-t-web-", "web-t-web-9"))
    held = {item.name: item.holds for item in collect(world).choice.held if item.kind == "trash"}
    assert trash(world) == [auth, docs, web]
    assert held == {
        auth.name: "work that no rescue ref keeps",
        docs.name: "files that were written after it was removed",
        web.name: "a worktree that no act on record removed",
    }


def test_ages_and_budgets(world: World) -> None:
    """What is young stays, but for a budget on the disk, which takes the oldest first."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    logs = world.state_dir / "logs"
    for age, name in enumerate(("new.log", "verify/mid.log", "old.log")):
        (logs / name).parent.mkdir(exist_ok=True)
        (logs / name).write_bytes(b"x" * 1_000_000)
        stamp = time.time() - (age + 1) * 1000
        os.utime(logs / name, (stamp, stamp))
    with nothing_gone(world):
        assert collect(world, days=1).choice.going == ()
    done = collect(world, days=1, max_bytes=1_500_000)
    assert [item.name for item in done.choice.going] == ["old.log", "verify/mid.log"]
    assert sorted(path.name for path in logs.rglob("*.log")) == ["new.log"]
    assert len(trash(world)) == 1


@contextmanager
def nothing_gone(world: World) -> Iterator[None]:
    """Expect that nothing goes."""
    before = (world.refs(), trash(world))
    yield
    assert (world.refs(), trash(world)) == before


def test_a_dry_run_changes_nothing(world: World) -> None:
    """What would go is the same as what goes, and a dry run lets nothing go."""
    landed_with_a_rebase(world)
    session = world.session()
    with nothing_gone(world):
        would = preview_gc(session, wish_of(session, days=0))
    assert would.number is None
    assert world.query("SELECT id FROM operations WHERE kind = 'gc'") == []
    assert {i.name for i in collect(world).choice.going} == {i.name for i in would.choice.going}


def test_nothing_goes_and_nothing_is_recorded(world: World) -> None:
    """Where nothing is old the journal stays as it is."""
    world.working("auth", "login", {"a": "1\n"})
    before = world.rows()
    assert gc_daily(world.session()).number is None
    assert world.rows() == before


def test_commits_that_git_has_pruned(world: World) -> None:
    """After git's own gc the undo of a gc says which commits are gone, and changes nothing."""
    landed_with_a_rebase(world)
    collect(world)
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")
    with unchanged(world, "commits_gone"):
        undo(world.session())
    assert prove(world.session()).findings == ()


def test_a_gc_of_the_disk_alone_cannot_be_undone(world: World) -> None:
    """What was deleted from the disk does not come back, and that is said."""
    log = world.state_dir / "logs" / "a.log"
    world.session()
    log.write_text("x")
    number = collect(world).number
    with unchanged(world, "nothing_kept"):
        undo(world.session(), number)


def test_a_worker_may_not(world: World) -> None:
    """A worker clears nothing away that others left."""
    place = world.working("auth", "login", {"a": "1\n"})
    session = world.session(place)
    with unchanged(world, "not_allowed", Refused):
        gc(session, wish_of(session, days=0))


def test_settings(world: World) -> None:
    """The settings say how old and how much where the command does not; 0 is no limit."""
    wish = wish_of(world.session())
    assert (wish.days, wish.max_bytes) == (7, None)
    world.git("config", "worker.gc.days", "0")
    world.git("config", "worker.gc.max-bytes", "5")
    wish = wish_of(world.session())
    assert (wish.days, wish.max_bytes) == (None, 5)


def test_verify_worktrees(world: World) -> None:
    """Verify worktrees that nobody uses go; one in use stays."""
    from gitworker.model.ids import Oid
    from gitworker.verify.verify_worktree import take_slot

    session = world.session()
    first, second = take_slot(session), take_slot(session)
    for slot in (first, second):
        slot.prepare(Oid(world.tip()))
    second.release()
    done = collect(world)
    assert [item.name for item in done.choice.going] == [str(second.number)]
    assert os.path.isdir(first.tree)
    assert not os.path.isdir(second.tree)
    first.release()


@pytest.mark.parametrize("packed", [False, True])
def test_a_rescue_that_no_act_names(world: World, packed: bool) -> None:
    """A rescue ref of an undone approval has its age from its file, else from its commit."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"theirs": "1\n"})
    world.approve("auth")
    undo(world.session())
    assert rescues(world) == ["auth/login/1", "auth/login/2"]
    Repo(world.root).git("pack-refs", "--all") if packed else None
    done = collect(world)
    assert all(item.at_ms > 0 for item in (*done.choice.going, *done.choice.held))
    assert "auth/login/1" not in rescues(world)
