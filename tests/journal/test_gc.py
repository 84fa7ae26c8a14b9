"""gc deletes old rescue refs, trash, verify worktrees and logs, and keeps all unique work."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import GitWorkerError, Refused
from gitworker.fsck.fsck import run_fsck
from gitworker.journal.gc.gc import CollectedItems, gc, gc_daily, gc_request, preview_gc
from gitworker.journal.undo.undo import undo
from gitworker.workers.cancel import cancel
from tests.workers.dirty_worktree import make_dirty
from tests.workers.world import World, newest, unchanged, wait_until

RESCUE = "refs/worker/rescue/"


def collect(world: World, **wanted: int | bool) -> CollectedItems:
    """Let go of everything that is older than this moment."""
    session = world.session()
    return gc(session, gc_request(session, **{"days": 0, **wanted}))  # type: ignore[arg-type]


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


def test_landed_work_needs_no_rescue(world: World) -> None:
    """gc deletes the rescue refs of landed work, and an undo of the gc restores them."""
    landed_with_a_rebase(world)
    before = world.refs()
    assert rescues(world) == ["auth/login/1", "auth/login/2"]
    done = collect(world)
    assert rescues(world) == []
    assert [item.holds for item in done.choice.selected if item.kind == "rescue"] == ["", ""]
    assert run_fsck(world.session()).findings == ()
    again = undo(world.session())
    assert (again.kind, again.number, again.workers) == ("gc", done.number, ())
    assert world.refs() == before
    assert run_fsck(world.session()).findings == ()


def test_a_lock_is_in_the_way_of_the_undo(world: World) -> None:
    """The undo of a gc names a lock that a killed git left, and works once it is removed."""
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


def test_a_branch_resolved_by_hand_has_landed(world: World) -> None:
    """A branch resolved by hand before its landing needs no rescue: the journal has the landing."""
    landed_with_a_rebase(world)
    world.advance({"a": "by another author\n"})
    collect(world)
    assert rescues(world) == []


def test_unlanded_work_stays(world: World) -> None:
    """Cancelled work is kept however old it is, unless it is named, and the report says so."""
    world.working("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    cancel(world.session(), "auth")
    done = collect(world)
    assert [item.name for item in done.choice.held] == [f"{RESCUE}auth/login/1"]
    assert rescues(world) == ["auth/login/1"]
    done = collect(world, unlanded=True)
    assert [item.target for item in done.choice.selected if item.kind == "rescue"] == [tip]
    assert rescues(world) == []
    undo(world.session())
    assert world.tip(f"{RESCUE}auth/login/1") == tip


def test_uncommitted_work_of_a_landed_branch_stays(world: World) -> None:
    """A snapshot of uncommitted work did not land with its branch, so gc keeps it."""
    make_dirty(world, world.approved("auth", "login", {"a": "1\n"}))
    world.land("auth")
    collect(world)
    assert rescues(world) == ["auth/login/1"]
    assert world.show("new/deep", f"{RESCUE}auth/login/1") == "untracked"


def test_commits_on_a_branch_need_no_rescue(world: World) -> None:
    """gc deletes a rescue ref whose commits are also on a branch."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    world.git("branch", "kept", f"{RESCUE}auth/login/1")
    collect(world)
    assert rescues(world) == []


def test_the_trash_is_emptied(world: World) -> None:
    """A removed worktree with a rescue ref is deleted, and undo creates it again."""
    place = world.working("auth", "login", {"a": "1\n"})
    (place / "new").write_text("untracked\n")
    cancel(world.session(), "auth")
    (entry,) = trash(world)
    done = collect(world)
    assert [item.kind for item in done.choice.selected if item.kind == "trash"] == ["trash"]
    assert trash(world) == []
    wait_until(lambda: not list(entry.parent.glob(".doomed-*")))
    assert run_fsck(world.session()).findings == ()
    undo(world.session(), newest(world, "cancel"))
    assert (place / "a").read_text() == "1\n"


def test_work_that_only_the_trash_holds_stays(world: World) -> None:
    """gc keeps a removed worktree that is unknown, has no rescue ref or was changed since."""
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
        web.name: "a worktree that no recorded operation removed",
    }


def test_ages_and_budgets(world: World) -> None:
    """gc keeps young items, but a disk budget deletes the oldest items first."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    logs = world.state_dir / "logs"
    for age, name in enumerate(("new.log", "verify/mid.log", "old.log")):
        (logs / name).parent.mkdir(exist_ok=True)
        (logs / name).write_bytes(b"x" * 1_000_000)
        stamp = time.time() - (age + 1) * 1000
        os.utime(logs / name, (stamp, stamp))
    with nothing_gone(world):
        assert collect(world, days=1).choice.selected == ()
    done = collect(world, days=1, max_bytes=1_500_000)
    assert [item.name for item in done.choice.selected] == ["old.log", "verify/mid.log"]
    assert sorted(path.name for path in logs.rglob("*.log")) == ["new.log"]
    assert len(trash(world)) == 1


@contextmanager
def nothing_gone(world: World) -> Iterator[None]:
    """Expect that gc deletes nothing."""
    before = (world.refs(), trash(world))
    yield
    assert (world.refs(), trash(world)) == before


def test_a_dry_run_changes_nothing(world: World) -> None:
    """A dry run lists the same deletions as the real run and deletes nothing."""
    landed_with_a_rebase(world)
    session = world.session()
    with nothing_gone(world):
        would = preview_gc(session, gc_request(session, days=0))
    assert would.number is None
    assert world.query("SELECT id FROM operations WHERE kind = 'gc'") == []
    assert {i.name for i in collect(world).choice.selected} == {
        i.name for i in would.choice.selected
    }


def test_no_deletion_is_recorded_without_one(world: World) -> None:
    """A gc that finds nothing old records nothing in the journal."""
    world.working("auth", "login", {"a": "1\n"})
    before = world.rows()
    assert gc_daily(world.session()).number is None
    assert world.rows() == before


def test_commits_that_git_has_pruned(world: World) -> None:
    """After git has pruned the commits, the undo of a gc names them and changes nothing."""
    landed_with_a_rebase(world)
    collect(world)
    world.git("reflog", "expire", "--expire=now", "--all")
    world.git("gc", "-q", "--prune=now")
    with unchanged(world, "commits_gone"):
        undo(world.session())
    assert run_fsck(world.session()).findings == ()


def test_a_gc_of_the_disk_alone_cannot_be_undone(world: World) -> None:
    """Files that gc deleted from the disk cannot be restored, and the undo says so."""
    log = world.state_dir / "logs" / "a.log"
    world.session()
    log.write_text("x")
    number = collect(world).number
    with unchanged(world, "nothing_kept"):
        undo(world.session(), number)


def test_a_worker_may_not(world: World) -> None:
    """A worker may not run gc on items that other workers left."""
    place = world.working("auth", "login", {"a": "1\n"})
    session = world.session(place)
    with unchanged(world, "not_allowed", Refused):
        gc(session, gc_request(session, days=0))


def test_settings(world: World) -> None:
    """The settings give the ages and sizes that the command omits, and 0 means no limit."""
    request = gc_request(world.session())
    assert (request.days, request.max_bytes) == (7, None)
    world.git("config", "worker.gc.days", "0")
    world.git("config", "worker.gc.max-bytes", "5")
    request = gc_request(world.session())
    assert (request.days, request.max_bytes) == (None, 5)


def test_verify_worktrees(world: World) -> None:
    """gc deletes unused verify worktrees and keeps one that is in use."""
    from gitworker.model.ids import Oid
    from gitworker.verify.verify_worktree import take_slot

    session = world.session()
    first, second = take_slot(session), take_slot(session)
    for slot in (first, second):
        slot.prepare(Oid(world.tip()))
    second.release()
    done = collect(world)
    assert [item.name for item in done.choice.selected] == [str(second.number)]
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
    assert all(item.at_ms > 0 for item in (*done.choice.selected, *done.choice.held))
    assert "auth/login/1" not in rescues(world)
