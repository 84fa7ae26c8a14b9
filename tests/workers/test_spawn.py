"""spawn and assign: the things that a new worker gets, and every reason to refuse it."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.bus.consume import acknowledge
from gitworker.errors import Conflict, NotFound, Refused
from gitworker.lifecycle.fail import fail
from gitworker.store.messages.mailbox import StoredMessage, unread_messages
from gitworker.workers.cancel import cancel, recycle
from tests.store.support import send
from tests.workers.world import World, unchanged

SEED_1_FIELDS = [
    "worker_id", "state", "task_id", "branch", "assigned_at", "state_changed_at",
    "last_heartbeat", "pid", "attempt", "max_attempts", "last_error", "pr_url", "review_state",
]  # fmt: skip


def unread(world: World, worker: str) -> list[StoredMessage]:
    """Return a worker's unread messages, oldest first."""
    with world.session().store.read() as reader:
        return unread_messages(reader, worker, limit=100)


def test_spawn(world: World) -> None:
    """A spawned worker is ASSIGNED and has a branch at the target and a worktree of its own."""
    spawned = world.spawn("auth", "login", title="Log in")
    assert spawned.path == str(world.root / "worktrees" / "login")
    assert spawned.base == world.tip("auth/login") == world.tip("main")
    assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")
    row = world.worker("auth")
    assert (row.task_id, row.branch, row.base_oid) == ("login", "auth/login", spawned.base)
    task = world.task("login")
    assert (task.title, task.assigned_agent_id, task.branch_name) == (
        "Log in", "auth", "auth/login",
    )  # fmt: skip
    assert world.git("status", "--porcelain") == ""
    assert world.session(spawned.path).actor == "auth"


def test_spawn_publishes_an_assignment(world: World) -> None:
    """A spawn is published as one assignment to the worker, and the task is claimed for it."""
    spawned = world.spawn("auth", "login")
    (assignment,) = world.messages("task_assign")
    assert assignment == {
        "branch": "auth/login", "base": spawned.base, "worktree": spawned.path,
    }  # fmt: skip
    claims = world.query("SELECT task_id, claimed_by FROM task_claims")
    assert claims == [("login", "auth")]


def test_a_new_worker_begins_at_the_end_of_the_bus(world: World) -> None:
    """A new worker's first unread message is its assignment, and messages to it are kept."""
    world.spawn("auth", "login")
    send(world.session().store, "m1")
    world.spawn("docs", "guide")
    assert [one.type for one in unread(world, "docs")] == ["task_assign"]
    send(world.session().store, "m2", to_agent="early", type="x-answer")
    send(world.session().store, "m3")
    world.spawn("early", "t3")
    kinds = [one.type for one in unread(world, "early")]
    assert kinds[:2] == ["x-answer", "x-note"]
    assert kinds[-1] == "task_assign"


def test_a_cursor_is_begun_once(world: World) -> None:
    """An agent that has a cursor keeps it when it becomes a worker, and at its next task."""
    for name in ("m1", "m2"):
        send(world.session().store, name)
    acknowledge(world.session().store, "auth", 1)
    world.spawn("auth", "login")
    assert unread(world, "auth")[0].seq == 2
    cursors = world.query("SELECT agent_id, last_acked_seq FROM cursors")
    cancel(world.session(), "auth")
    world.spawn("auth", "next", must_exist=True)
    assert world.query("SELECT agent_id, last_acked_seq FROM cursors") == cursors


def test_view_has_the_fields_of_seed_1(world: World) -> None:
    """The worker's JSON view has exactly the documented fields, in their order."""
    world.spawn("auth", "login")
    view = world.view("auth")
    assert list(view) == SEED_1_FIELDS
    assert (view["worker_id"], view["state"], view["task_id"]) == ("auth", "ASSIGNED", "login")
    assert (view["attempt"], view["max_attempts"], view["pid"]) == (1, 4, None)
    assert view["assigned_at"].endswith("Z")


def test_start_point(world: World) -> None:
    """A spawn begins at the revision that was asked for."""
    first = world.tip()
    world.advance({"more": "x\n"})
    assert world.spawn("auth", "login", start=first).base == first
    assert not (world.path("auth") / "more").exists()


def test_start_at_a_remote_branch(world: World, tmp_path: Path) -> None:
    """REMOTE/BRANCH is fetched first, so that the spawn begins at the remote's present commit."""
    remote = Repo.make(tmp_path / "remote.git", "--bare")
    world.git("remote", "add", "up", str(remote.root))
    world.git("push", "-q", "up", "main:feature")
    other = tmp_path / "other"
    world.git("clone", "-q", "-b", "feature", str(remote.root), str(other))
    ahead = Repo(other).commit("Ahead", {"ahead": "1\n"})
    Repo(other).git("push", "-q")
    assert world.spawn("auth", "login", start="up/feature").base == ahead


def test_start_at_nothing(world: World) -> None:
    """A start that names no commit is not found, and nothing is made."""
    with unchanged(world, "not_found", NotFound):
        world.spawn("auth", "login", start="no-such-thing")


def test_included_files(world: World) -> None:
    """Ignored files that .worktreeinclude names are copied; others, and tracked ones, are not."""
    Repo(world.root).write(
        {".worktreeinclude": "*.o\nREADME\n", "a.o": b"\0object", "deep/b.o": "b", "c.tmp": "no"}
    )
    place = Path(world.spawn("auth", "login").path)
    assert (place / "a.o").read_bytes() == b"\0object"
    assert (place / "deep" / "b.o").read_text() == "b"
    assert not (place / "c.tmp").exists()
    assert world.git("status", "--porcelain", cwd=place) == ""


def test_included_files_leave_existing_files(world: World) -> None:
    """A file that the commit brings is not overwritten by an ignored one of the main checkout."""
    Repo(world.root).write({"kept.o": "tracked"})
    world.git("add", "-f", "kept.o")
    world.git("commit", "-qm", "Track it")
    world.git("rm", "-q", "--cached", "kept.o")
    Repo(world.root).write({".worktreeinclude": "*.o\n", "kept.o": "mine"})
    place = Path(world.spawn("auth", "login").path)
    assert (place / "kept.o").read_text() == "tracked"
    world.git("reset", "-q")


def test_name_blocked_by_a_branch(world: World) -> None:
    """A branch that is called like the worker is refused by name before git would fail."""
    world.git("branch", "auth")
    with unchanged(world, "name_blocked"):
        world.spawn("auth", "login")


def test_branch_exists(world: World) -> None:
    """A branch of the wanted name is another user's work: the spawn refuses."""
    world.git("branch", "auth/login")
    with unchanged(world, "branch_exists"):
        world.spawn("auth", "login")


def test_task_blocked_by_deeper_branch(world: World) -> None:
    """A branch below the wanted one blocks it for git; the leftovers of the attempt are deleted."""
    world.git("branch", "auth/login/deep")
    refs = world.refs()
    with pytest.raises(Refused) as caught:
        world.spawn("auth", "login")
    assert caught.value.code == "branch_blocked"
    assert world.refs() == refs
    assert world.worktrees() == []
    assert not (world.root / "worktrees" / "login").exists()


def test_path_in_the_way(world: World) -> None:
    """A foreign directory at the worktree's place is left alone."""
    world.spawn("docs", "words")
    Repo(world.root).write({"worktrees/login/mine": "precious"})
    with unchanged(world, "path_exists"):
        world.spawn("auth", "login")


def test_busy_worker(world: World) -> None:
    """A worker that holds a task takes no second one."""
    world.spawn("auth", "login")
    with unchanged(world):
        world.spawn("auth", "other")


def test_failed_worker(world: World) -> None:
    """A FAILED worker must be reset before it takes a task."""
    world.spawn("auth", "login")
    fail(world.session(), "auth", reason="no idea")
    with unchanged(world) as caught:
        world.spawn("auth", "other")
    assert caught.value.hint == "git worker reset auth"


def test_held_task(world: World) -> None:
    """A task that another worker holds cannot be taken."""
    world.spawn("auth", "login")
    with unchanged(world) as caught:
        world.spawn("docs", "login")
    assert "auth" in caught.value.message


def test_landed_task(world: World) -> None:
    """A task whose work has landed is not given out again."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    with unchanged(world):
        world.spawn("docs", "login")


def test_open_dependency(world: World) -> None:
    """A task that waits for another is refused until that one is COMPLETED."""
    session = world.session()
    with session.store.write() as writer:
        for task in ("first", "second"):
            writer.run(
                "tasks.insert", task=task, title="", requires_approval=1, max_retries=3, now=1
            )
    _depend(world, "second", "first")
    with unchanged(world) as caught:
        world.spawn("auth", "second")
    assert "waits for first" in caught.value.message
    world.approved("docs", "first", {"a": "1\n"})
    world.land("docs")
    world.spawn("auth", "second")
    assert world.states("auth", "second") == ("ASSIGNED", "ASSIGNED")


def test_claimed_by_a_foreign_program(world: World) -> None:
    """A task that another program has claimed is a conflict until the lease runs out."""
    session = world.session()
    with session.store.write() as writer:
        writer.run("claims.insert", task="login", agent="robot", now=1, lease_until_ms=2**52)
    with unchanged(world, "claimed", Conflict):
        world.spawn("auth", "login")
    with session.store.write() as writer:
        writer.run("claims.release", task="login", agent="robot")
        writer.run("claims.insert", task="login", agent="robot", now=1, lease_until_ms=2)
    world.spawn("auth", "login")
    assert world.query("SELECT claimed_by FROM task_claims") == [("auth",)]


def test_unborn_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a commit on the target there is nothing to begin from."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World(Repo.make(tmp_path / "empty").root)
    with pytest.raises(Refused) as caught:
        world.spawn("auth", "login")
    assert caught.value.code == "no_target"
    assert world.query("SELECT * FROM operations") == []


def test_assign_needs_a_worker(world: World) -> None:
    """assign gives a task to a worker that exists, and to no other."""
    with unchanged(world, "not_found", NotFound):
        world.spawn("auth", "login", must_exist=True)
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    world.spawn("auth", "next", must_exist=True)
    assert world.states("auth", "next") == ("ASSIGNED", "ASSIGNED")


def test_recycled_worker(world: World) -> None:
    """A recycled worker is IDLE, holds nothing, and takes the next task."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    freed = recycle(world.session(), "auth")
    assert (freed.state.value, freed.task_id, freed.branch) == ("IDLE", None, None)
    world.spawn("auth", "next")


def test_target_by_setting(world: World) -> None:
    """The setting worker.target decides at which branch a spawn begins."""
    world.git("branch", "release")
    world.advance({"more": "x\n"})
    world.git("config", "worker.target", "release")
    assert world.spawn("auth", "login").base == world.tip("release")


def test_hooks_fire_in_the_worktree_only(world: World) -> None:
    """Our hooks are set up in the new worktree and nowhere else."""
    place = world.spawn("auth", "login").path
    assert "worker-state/hooks" in world.git("config", "--worktree", "--list", cwd=place)
    assert "worker-state/hooks" not in world.git("config", "--list")


def test_post_checkout_hook_that_fails(world: World) -> None:
    """A user's post-checkout hook that fails leaves a good worktree, as git itself does."""
    hook = world.root / ".git" / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    world.spawn("auth", "login")
    assert world.states("auth", "login") == ("ASSIGNED", "ASSIGNED")


def test_filter_that_fails(world: World) -> None:
    """A checkout that fails is rolled back: no branch, no worktree, no row."""
    Repo(world.root).write({".gitattributes": "README filter=broken\n"})
    world.git("add", ".")
    world.git("commit", "-qm", "Attributes")
    world.git("config", "filter.broken.smudge", "false")
    world.git("config", "filter.broken.required", "true")
    refs = world.refs()
    with pytest.raises(Exception, match="git worktree failed"):
        world.spawn("auth", "login")
    assert world.refs() == refs
    assert world.worktrees() == []
    assert world.query("SELECT status FROM operations") == [("rolled_back",)]
    assert world.query("SELECT * FROM workers") == []


def _depend(world: World, task: str, on: str) -> None:
    with contextlib.closing(sqlite3.connect(world.state_dir / "bus.db")) as connection:
        insert = "INSERT INTO task_dependencies (task_id, depends_on) VALUES (?, ?)"
        connection.execute(insert, (task, on))
        connection.commit()
