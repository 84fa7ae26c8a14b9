"""An interrupted operation that cannot be completed now blocks only its own worker."""

import os
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.bus.drain import drain
from gitworker.errors import Conflict, GitWorkerError
from gitworker.journal.recover import recover_all
from gitworker.journal.settle import settle
from gitworker.journal.settle_rewrite import roll_back
from gitworker.journal.undo.undo import undo
from gitworker.landing.merge import Landed, NotLanded
from gitworker.workers.cancel import cancel
from tests.workers.world import World, newest, unchanged, wait_until


def lock_ref(world: World, ref: str) -> Path:
    """Leave the lock of a ref behind, as a git that was killed does."""
    lock = world.root / ".git" / f"{ref}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    return lock


def open_acts(world: World) -> list[tuple[str, str]]:
    """Return kind and worker of the operations that the journal has open."""
    rows = world.query("SELECT kind, worker_id FROM operations WHERE status = 'open' ORDER BY id")
    return [(kind, worker) for kind, worker in rows]


def refuse_rows(world: World, table: str, condition: str = "1") -> None:
    """Make the database refuse new rows of a table."""
    world.session().store.execute(  # type: ignore[attr-defined]
        f"CREATE TRIGGER no_{table} BEFORE INSERT ON {table} WHEN {condition}"
        " BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )


def allow_rows(world: World, table: str) -> None:
    """Take that back."""
    world.session().store.execute(f"DROP TRIGGER no_{table}")  # type: ignore[attr-defined]


# ---------------------------------------------------------------- operations that stay open
def test_a_lock_that_was_left(world: World) -> None:
    """A ref lock that a killed git left blocks only its worker, until a user removes the lock."""
    world.approved("auth", "login", {"a": "1\n"})
    for name in ("bob", "cat", "dan"):
        world.in_review(name, f"t-{name}", {name: "1\n"})
    lock = lock_ref(world, "refs/heads/auth/login")
    landed = world.land("auth")
    assert landed.kept == "auth/login"
    assert str(landed.kept_why).startswith(f"{lock} exists: ")
    assert open_acts(world) == [("remove", "auth")]
    settled, _ = settle(world.session())
    assert [(one.operation.worker_id, one.error.code) for one in settled.left] == [
        ("auth", "git_locked")
    ]
    assert settled.left[0].error.hint is not None
    assert "refs/heads/auth/login.lock" in settled.left[0].error.hint
    world.approve("bob")
    world.land("bob")
    cancel(world.session(), "cat")
    assert undo(world.session()).kind == "cancel"
    world.spawn("eve", "t-eve")
    with unchanged(world, "unfinished_act", Conflict):
        world.spawn("auth", "next")
    lock.unlink()
    assert [one.kind for one in recover_all(world.session()).ended] == ["remove"]
    assert open_acts(world) == []
    assert "refs/heads/auth/login" not in world.refs()
    world.spawn("auth", "next")


def test_a_lock_of_one_in_a_window(world: World) -> None:
    """Of several that land together, only the one whose branch is locked keeps it."""
    for name in ("amy", "bob", "cat"):
        world.approved(name, f"t-{name}", {name: "1\n"})
    lock = lock_ref(world, "refs/heads/bob/t-bob")
    results = world.merge(everything=True)
    kept = [one.kept for one in results if isinstance(one, Landed)]
    assert kept == [None, "bob/t-bob", None]
    assert open_acts(world) == [("remove", "bob")]
    lock.unlink()
    recover_all(world.session())
    assert not [name for name in world.refs() if name.startswith("refs/heads/bob/")]


def test_only_the_same_worker_waits(world: World) -> None:
    """While an operation of a worker is open, no command may rewrite or free that worker."""
    world.approved("auth", "login", {"a": "1\n"})
    lock = lock_ref(world, "refs/heads/auth/login")
    with pytest.raises(Conflict):
        cancel(world.session(), "auth")
    assert open_acts(world) == [("cancel", "auth")]
    for act in (
        lambda: cancel(world.session(), "auth"),
        lambda: world.approve("auth"),
        lambda: world.land("auth"),
    ):
        with unchanged(world, "unfinished_act", Conflict):
            act()
    lock.unlink()
    recover_all(world.session())
    assert world.worker("auth").state == "IDLE"


def test_a_spawn_that_cannot_be_rolled_back(world: World) -> None:
    """A killed spawn whose rollback is refused stops its worker and its task alone."""
    died = world.drive("spawn", "auth", "login", GITWORKER_CRASH_AT="spawn.hooks")
    assert died.returncode == -9
    lock = lock_ref(world, "refs/heads/auth/login")
    world.spawn("bob", "other")
    assert open_acts(world) == [("spawn", "auth")]
    for worker, task in (("auth", "next"), ("cat", "login")):
        with unchanged(world, "unfinished_act", Conflict):
            world.spawn(worker, task)
    lock.unlink()
    world.spawn("auth", "login")
    assert open_acts(world) == []


def test_a_rollback_keeps_the_worktree_of_another_worker(world: World) -> None:
    """The rollback of a killed spawn keeps a worktree that belongs to another worker by then."""
    died = world.drive("spawn", "auth", "login", GITWORKER_CRASH_AT="spawn.journal")
    assert died.returncode == -9
    place = world.root / "worktrees" / "login"
    world.git("worktree", "add", "-q", "-b", "theirs", str(place))
    admin = Path(world.git("rev-parse", "--absolute-git-dir", cwd=place))
    (admin / "gitworker-seat").write_text("bob login\n")
    recover_all(world.session())
    assert open_acts(world) == []
    assert (place / "README").exists()


# ---------------------------------------------------------------- git has forgotten a worktree
def test_a_worktree_that_git_forgot(world: World) -> None:
    """An approve is refused before it is journaled if the worktree's git directory is missing."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.in_review("bob", "other", {"b": "1\n"})
    world.advance({"new": "x\n"})
    world.git("worktree", "unlock", str(place))  # as the agent had it locked
    hidden = place.rename(world.root.parent / "hidden")
    world.git("worktree", "prune")
    hidden.rename(place)
    with pytest.raises(GitWorkerError, match="no longer knows the worktree") as caught:
        world.approve("auth")
    assert caught.value.code == "worktree_unknown"
    assert open_acts(world) == []
    world.approve("bob")
    world.land("bob")
    place.rename(f"{place}.old")  # as the hint says
    world.approve("auth")
    world.land("auth")


@pytest.mark.parametrize(
    ("point", "state"), [("approve.journal", "IN_REVIEW"), ("approve.moved", "APPROVED")]
)
def test_forgotten_after_a_kill(world: World, point: str, state: str) -> None:
    """An operation killed before git forgot the worktree is completed with the branch alone."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"new": "x\n"})
    assert world.drive("approve", "auth", GITWORKER_CRASH_AT=point).returncode == -9
    hidden = place.rename(world.root.parent / "hidden")
    world.git("worktree", "prune")
    hidden.rename(place)
    settled = recover_all(world.session())
    assert ([one.kind for one in settled.ended], settled.left) == (["approve"], [])
    assert world.worker("auth").state == state


# ---------------------------------------------------------------- landing
def test_a_landing_with_an_unreadable_worktree(world: World) -> None:
    """A worktree that git cannot read is kept, and its worker is still reported as landed."""
    for name in ("amy", "bob", "cat"):
        world.approved(name, f"t-{name}", {name: "1\n"})
    (world.root / ".git/worktrees/t-bob/index").write_text("garbage")
    results = world.merge(everything=True)
    assert [type(one) for one in results] == [Landed] * 3
    assert isinstance(results[1], Landed)
    assert results[1].kept == str(world.path("bob"))
    assert results[1].kept_why is not None
    assert "index: it is damaged" in results[1].kept_why
    assert open_acts(world) == []
    assert len(world.query("SELECT * FROM landings")) == 3


def test_nothing_leaves_after_the_record(world: World) -> None:
    """If the whole cleanup fails, all workers have landed and the next command cleans up."""
    for name in ("amy", "bob"):
        world.approved(name, f"t-{name}", {name: "1\n"})
    refuse_rows(world, "operations", "NEW.kind = 'remove'")
    (world.root / ".git/worktrees/t-bob/index").write_text("garbage")
    assert [type(one) for one in world.merge(everything=True)] == [Landed] * 2
    allow_rows(world, "operations")
    recover_all(world.session())
    assert open_acts(world) == []


def test_a_journal_that_cannot_be_closed(world: World) -> None:
    """If the last step fails, all workers have landed and the next command completes the step."""
    for name in ("amy", "bob"):
        world.approved(name, f"t-{name}", {name: "1\n"})
    place = world.path("bob")
    world.git("worktree", "unlock", str(place))  # as the agent had it locked
    world.git("worktree", "lock", str(place))
    world.session().store.execute(  # type: ignore[attr-defined]
        "CREATE TRIGGER no_end BEFORE UPDATE ON operations WHEN NEW.status = 'done'"
        " AND NEW.kind = 'merge' BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )
    results = world.merge(everything=True)
    kept = [one.kept for one in results if isinstance(one, Landed)]
    assert kept == [None, str(place)]
    assert open_acts(world) == [("merge", "amy"), ("merge", "bob")]
    world.session().store.execute("DROP TRIGGER no_end")  # type: ignore[attr-defined]
    assert len(recover_all(world.session()).ended) == 2
    assert open_acts(world) == []


def test_one_landing_that_cannot_be_recorded(world: World) -> None:
    """Of a window whose record fails, those that can be recorded have landed."""
    for name in ("amy", "bob", "cat"):
        world.approved(name, f"t-{name}", {name: "1\n"})
    refuse_rows(world, "landings", "NEW.worker_id = 'bob'")
    results = world.merge(everything=True)
    assert [type(one) for one in results] == [Landed, NotLanded, Landed]
    assert open_acts(world) == [("merge", "bob")]
    allow_rows(world, "landings")
    # A background job of the merge may have the lock, or have finished it.
    wait_until(lambda: not recover_all(world.session()).left and open_acts(world) == [])
    assert world.states("bob", "t-bob") == ("COMPLETED", "COMPLETED")


def test_landings_that_could_not_be_recorded(world: World) -> None:
    """Landings that the database refuses are not repeated, and the next command records them."""
    for name in ("amy", "bob"):
        world.approved(name, f"t-{name}", {name: "1\n"})
    refuse_rows(world, "landings")
    results = world.merge(everything=True)
    assert [one.error.code for one in results if isinstance(one, NotLanded)] == ["not_recorded"] * 2
    assert open_acts(world) == [("merge", "amy"), ("merge", "bob")]
    with pytest.raises(Conflict, match="can be neither finished"):
        world.merge(everything=True)
    world.spawn("cat", "t-cat")
    allow_rows(world, "landings")
    assert len(recover_all(world.session()).ended) == 2
    assert world.states("amy", "t-amy") == ("COMPLETED", "COMPLETED")
    rows = world.query("SELECT worker_id, target_new FROM landings ORDER BY id")
    assert rows == [("amy", world.tip("main~1")), ("bob", world.tip("main"))]
    drain(world.session())
    assert world.messages("x-target-moved") == []
    assert world.worktrees() == [str(world.root / "worktrees" / "t-cat")]


def test_a_second_journal_of_one_landing(world: World) -> None:
    """A second journal of a landing that is already recorded is closed and blocks nothing."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth", keep=True)
    world.session().store.execute(  # type: ignore[attr-defined]
        "INSERT INTO operations (kind, worker_id, task_id, step, data, actor, created_at_ms,"
        " updated_at_ms) SELECT kind, worker_id, task_id, 'begun', data, actor, created_at_ms,"
        " updated_at_ms FROM operations WHERE kind = 'merge'"
    )
    settled = recover_all(world.session())
    assert ([one.kind for one in settled.ended], settled.left) == (["merge"], [])
    assert len(world.query("SELECT * FROM landings")) == 1


# ---------------------------------------------------------------- logs and views
def test_an_operation_that_another_command_has_ended(world: World) -> None:
    """A late rollback leaves it as it was recorded, so that it can be undone."""
    world.approved("auth", "login", {"a": "1\n"})
    number = newest(world, "approve")
    roll_back(world.session(), number)
    assert undo(world.session()).number == number


def test_an_export_fails_no_act(world: World) -> None:
    """If a log cannot be written, the operation succeeds and the next command reports the fault."""
    world.in_review("auth", "login", {"a": "1\n"})
    log = world.state_dir / "bus.jsonl"
    log.unlink()
    log.mkdir()
    assert world.approve("auth").worker.state == "APPROVED"
    settled, _ = settle(world.session())
    assert settled.unpublished is not None
    assert str(log) in settled.unpublished.message
    log.rmdir()
    assert settle(world.session())[0].unpublished is None
    assert log.read_text().count('"review_result"') == 1


def test_a_conflict_in_a_name_of_bytes(world: World) -> None:
    """A conflict in a file name that is not text is reported with a `?`; the log stays valid."""
    name = os.fsdecode(b"f\xfc.txt")
    place = world.working("auth", "login", {})
    Repo(place).write({name: "theirs\n"})
    world.git("add", "--all", cwd=place)
    world.git("commit", "-qm", "Theirs", cwd=place)
    world.submit("auth")
    Repo(world.root).write({name: "ours\n"})
    world.git("add", "--", name)
    world.git("commit", "-qm", "Ours")
    with pytest.raises(Conflict) as caught:
        world.approve("auth")
    assert caught.value.code == "rebase_conflict"
    assert world.messages("review_result")[-1]["files"] == ["f?.txt"]
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
