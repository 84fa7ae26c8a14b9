"""undo restores the replaced state byte for byte, or is refused."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import NotFound, Refused
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import fail, stop
from gitworker.progress import Notice
from gitworker.store.messages.inboxes import newest_verdict
from gitworker.workers.cancel import cancel, recycle, reset
from gitworker.workers.start import resume
from gitworker.workers.task_verbs.change import cancel_task, restart_task, skip_task
from tests.tasks.test_queue import add
from tests.workers.dirty_worktree import make_dirty, open_rebase, read_worktree
from tests.workers.world import World, newest, unchanged, without_heartbeat_daemon


@pytest.mark.parametrize("mess", [make_dirty, open_rebase])
def test_undo_cancel(world: World, mess) -> None:  # type: ignore[no-untyped-def]
    """A withdrawn task comes back with every byte: index, files of every kind, an open rebase."""
    place = world.working("auth", "login", {"a": "1\n"})
    mess(world, place)
    before, tip = read_worktree(world, place), world.tip("auth/login")
    cancel(world.session(), "auth")
    done = undo(world.session())
    words = "login is back with auth, which waits for its author"
    assert (done.kind, done.message) == ("cancel", words)
    assert read_worktree(world, place) == before
    assert world.tip("auth/login") == tip
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    assert world.task("login").assigned_agent_id == "auth"
    assert world.query("SELECT task_id, claimed_by FROM task_claims") == [("login", "auth")]
    assert world.session(place).actor == "auth"


@pytest.mark.parametrize("how", ["switched", "renamed", "deleted"])
def test_undo_restores_a_worktree_on_another_branch(world: World, how: str) -> None:
    """A worktree that was on another branch, or on one without commits, is restored as it was."""
    place = world.working("auth", "login", {"a": "1\n"})
    if how == "switched":
        world.git("switch", "-qc", "try-something", cwd=place)
    elif how == "renamed":
        world.git("branch", "-m", "auth/login", "feature", cwd=place)
    else:
        world.git("update-ref", "-d", "refs/heads/auth/login")
    make_dirty(world, place)
    names = (".git", "README", "a", "new", "src", "x.o", ".gitignore")
    head = world.git("symbolic-ref", "HEAD", cwd=place)
    cancel(world.session(), "auth")
    undo(world.session())
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    assert sorted(file.name for file in place.iterdir()) == sorted(names)
    assert world.git("symbolic-ref", "HEAD", cwd=place) == head


def test_undo_below_a_line_feed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worktree below a directory with a line feed in its name comes back as any other."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "new\nline" / "repo")
    with without_heartbeat_daemon(world):
        place = world.working("auth", "login", {"a": "1\n"})
        (place / "new").write_text("untracked\n")
        cancel(world.session(), "auth")
        undo(world.session())
        assert (place / "new").read_text() == "untracked\n"


def test_undone_work_can_land(world: World) -> None:
    """After an undo the worker submits, is approved and lands as usual."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    undo(world.session())
    world.commit("auth", {"b": "2\n"})
    world.submit("auth")
    world.approve("auth")
    world.land("auth")
    assert world.show("b") == "2"


def test_undo_reset(world: World) -> None:
    """A worker that was reset gets its work back and has failed as before."""
    place = world.working("auth", "login", {"a": "1\n"})
    make_dirty(world, place)
    fail(world.session(), "auth", reason="stuck")
    before = read_worktree(world, place)
    reset(world.session(), "auth")
    assert undo(world.session()).kind == "reset"
    assert read_worktree(world, place) == before
    assert world.states("auth", "login") == ("FAILED", "FAILED")
    assert world.worker("auth").last_error == "stuck"
    assert world.query("SELECT task_id FROM task_claims WHERE lease_until_ms > 0") == []


def test_undo_approve(world: World) -> None:
    """An approval's rebase is taken back: the branch, the worktree, the state."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    old = world.tip("auth/login")
    world.advance({"b": "2\n"})
    before = read_worktree(world, place)
    world.approve("auth")
    done = undo(world.session())
    assert (done.kind, done.worker.state.value) == ("approve", "IN_REVIEW")
    assert world.tip("auth/login") == old
    assert read_worktree(world, place) == before
    assert world.worker("auth").review_state == "pending"
    assert world.messages("review_result")[-1]["verdict"] == "withdrawn"
    assert world.messages("review_request")[-1]["commit"] == old
    with world.session().store.read() as reader:
        assert newest_verdict(reader, "auth", "login") is None
    world.approve("auth")


def test_undo_approve_without_a_rebase(world: World) -> None:
    """An approval that moved no ref is withdrawn."""
    world.in_review("auth", "login", {"a": "1\n"})
    tip = world.tip("auth/login")
    world.approve("auth")
    undo(world.session())
    assert world.tip("auth/login") == tip
    assert world.worker("auth").state == "IN_REVIEW"


def test_undo_approve_keeps_uncommitted_work(world: World) -> None:
    """Uncommitted work in the worktree survives the undo of the rebase."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    world.approve("auth")
    Repo(place).write({"README": "later\n"})
    undo(world.session())
    assert (place / "README").read_text() == "later\n"
    assert not (place / "b").exists()


def test_undo_removal_of_a_dirty_worktree(world: World) -> None:
    """A landed worktree that went to the trash comes back with every byte."""
    place = world.approved("auth", "login", {"a": "1\n"})
    make_dirty(world, place)
    before, tip = read_worktree(world, place), world.tip("auth/login")
    world.land("auth")
    done = undo(world.session(), newest(world, "remove"))
    assert (done.kind, done.worker.state.value) == ("remove", "COMPLETED")
    assert read_worktree(world, place) == before
    assert world.tip("auth/login") == tip
    assert world.path("auth") == place


def test_undo_removal_of_a_clean_worktree(world: World) -> None:
    """A landed worktree that was deleted is created again, with its worker and hooks."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    undo(world.session(), newest(world, "remove"))
    assert (place / "a").read_text() == "1\n"
    assert world.session(place).actor == "auth"
    assert "worker-state/hooks" in world.git("config", "--worktree", "--list", cwd=place)


def test_nothing_to_undo(world: World) -> None:
    """undo is refused if there is no operation to undo."""
    with unchanged(world, "not_found", NotFound):
        undo(world.session())


def test_a_stop_is_not_undone(world: World) -> None:
    """undo names the stop that it does not reverse, and the command that takes the work up."""
    world.working("auth", "login", {"a": "1\n"})
    world.working("docs", "guide", {"b": "1\n"})
    stop(world.session(), "auth", reason="stopped by hq")
    words = "worker auth has failed (stopped by hq), which undo does not reverse"
    with unchanged(world, "not_found", NotFound) as caught:
        undo(world.session())
    assert caught.value.message == f"there is nothing to undo: {words}"
    assert caught.value.hint == "git worker resume auth"
    cancel(world.session(), "docs")
    heard: list[object] = []
    undo(world.session(report=heard.append))
    assert Notice(f"{words}; to take it up: git worker resume auth") not in heard, "it is older"
    cancel(world.session(), "docs")
    resume(world.session(), "auth")
    stop(world.session(), "auth", reason="stopped by hq")
    undo(world.session(report=heard.append))
    assert Notice(f"{words}; to take it up: git worker resume auth") in heard


def test_a_stop_is_named_by_a_refusal_too(world: World) -> None:
    """undo after a stop names it also if the operation before it cannot be undone."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    world.working("docs", "guide", {"b": "1\n"})
    stop(world.session(), "docs", reason="stopped by hq")
    heard: list[object] = []
    with pytest.raises(Refused, match="the landing cannot be undone"):
        undo(world.session(report=heard.append))
    assert any("git worker resume docs" in str(one) for one in heard)


def test_a_withdrawn_task_is_not_passed_over(world: World) -> None:
    """After the cancel of a queued task, undo names its reversal instead of an older operation."""
    add(world, "guide")
    cancel_task(world.session(), "guide")
    words = "task guide was cancelled, which undo does not reverse"
    with unchanged(world, "later_first") as caught:
        undo(world.session())
    assert (caught.value.message, caught.value.hint) == (words, "git worker task restart guide")
    restart_task(world.session(), "guide")
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    cancel_task(world.session(), "guide")
    number = newest(world, "cancel")
    with unchanged(world, "later_first") as caught:
        undo(world.session())
    assert caught.value.message.startswith(words)
    assert str(caught.value.hint).endswith(f"or undo the older one: git worker undo {number}")
    restart_task(world.session(), "guide")
    assert undo(world.session()).number == number


def test_a_skipped_task_is_not_passed_over(world: World) -> None:
    """After the skip of a failed task, undo names its reversal."""
    world.git("config", "worker.task.max-retries", "0")
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no idea")
    skip_task(world.session(), "login")
    with unchanged(world, "later_first") as caught:
        undo(world.session())
    assert caught.value.message == "task login was skipped, which undo does not reverse"


def test_undo_twice(world: World) -> None:
    """An undone operation is not undone again."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    undo(world.session())
    with unchanged(world, "not_found", NotFound):
        undo(world.session())


def test_branch_moved_on(world: World) -> None:
    """A branch that was built upon since is not moved back."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    world.approve("auth")
    world.commit("auth", {"c": "3\n"})
    with unchanged(world, "branch_moved"):
        undo(world.session())


def test_branch_made_again(world: World) -> None:
    """A new branch of the same name is not overwritten."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    world.git("branch", "auth/login", "main")
    with unchanged(world, "branch_moved"):
        undo(world.session())


def test_seat_has_other_work(world: World) -> None:
    """A worker that has taken another task keeps it."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    world.spawn("auth", "other")
    with unchanged(world, "moved_on"):
        undo(world.session())


def test_task_has_another_holder(world: World) -> None:
    """A task that another worker has taken stays with it, and later commands are not blocked."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="stuck")
    reset(world.session(), "auth")
    world.working("docs", "login", {"d": "1\n"})
    with unchanged(world, "moved_on") as caught:
        undo(world.session())
    assert "docs" in caught.value.message
    world.submit("docs")
    world.approve("docs")
    world.land("docs")


def test_cancel_of_a_failed_worker_while_another_holds_the_task(world: World) -> None:
    """Undoing the cancel of a FAILED worker does not take the task from its new holder."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="stuck")
    world.spawn("docs", "login")
    cancel(world.session(), "auth")
    with unchanged(world, "moved_on"):
        undo(world.session())


def test_task_claimed_by_a_foreign_program(world: World) -> None:
    """A task that another program has claimed meanwhile is not taken from it."""
    world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(), "auth")
    with world.session().store.write() as writer:
        writer.run("claims.insert", task="login", agent="robot", now=1, lease_until_ms=2**52)
    with unchanged(world, "moved_on"):
        undo(world.session())


def test_place_is_taken(world: World) -> None:
    """The undo is refused without any change if the worktree's path is in use."""
    place = world.working("auth", "login", {"a": "1\n"})
    make_dirty(world, place)
    before = read_worktree(world, place)
    cancel(world.session(), "auth")
    Repo(world.root).write({"worktrees/login/mine": "precious"})
    with pytest.raises(Exception, match="is in the way") as caught:
        undo(world.session())
    assert getattr(caught.value, "code", "") == "path_exists"
    assert "refs/heads/auth/login" not in world.refs()
    assert (place / "mine").read_text() == "precious"
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []
    (place / "mine").unlink()
    place.rmdir()
    undo(world.session())
    assert read_worktree(world, place) == before


def test_overlap_refuses_the_undo_of_an_approve(world: World) -> None:
    """The undo is refused if it would overwrite uncommitted work, and blocks no later command."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"b": "2\n"})
    done = world.approve("auth")
    Repo(place).write({"b": "changed\n"})
    with pytest.raises(Exception, match="would be overwritten"):
        undo(world.session())
    assert world.tip("auth/login") == done.commit
    assert world.worker("auth").state == "APPROVED"
    assert world.query("SELECT * FROM operations WHERE status = 'open'") == []


def test_recycled_worker(world: World) -> None:
    """A removal is not undone once the worker is IDLE again and free for other work."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    recycle(world.session(), "auth")
    with unchanged(world, "moved_on"):
        undo(world.session(), newest(world, "remove"))


def test_by_another_worker(world: World) -> None:
    """A worker may not undo the operation of another caller, unless review.self allows it."""
    world.working("auth", "login", {"a": "1\n"})
    place = Path(world.spawn("docs", "words").path)
    cancel(world.session(), "auth")
    with unchanged(world, "not_allowed"):
        undo(world.session(place))
    world.git("config", "worker.review.self", "true")
    undo(world.session(place))


def test_by_the_worker_that_did_it(world: World) -> None:
    """A worker may undo its own operation."""
    world.working("auth", "login", {"a": "1\n"})
    place = Path(world.spawn("docs", "words").path)
    cancel(world.session(place), "auth")
    assert undo(world.session(place)).kind == "cancel"


def test_newest_first(world: World) -> None:
    """undo takes the newest operation, then the one before it."""
    for name in ("auth", "docs"):
        world.working(name, f"t-{name}", {name: "1\n"})
    cancel(world.session(), "auth")
    cancel(world.session(), "docs")
    assert undo(world.session()).worker.worker_id == "docs"
    assert undo(world.session()).worker.worker_id == "auth"
