"""A worker's inbox after verdicts, hand-ins and commands of other users on its task."""

from pathlib import Path

import pytest

from gitworker.agents.launch import LaunchContext, require_worker
from gitworker.errors import Conflict, Refused
from gitworker.journal.sweep import sweep
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import fail
from gitworker.lifecycle.take_up import take_up_by_heartbeat
from gitworker.observe.inbox.inbox import Inbox
from gitworker.observe.inbox.mail import read_mail
from gitworker.observe.workers.show import read_show
from gitworker.observe.workers.status import read_status
from gitworker.progress import Event, Notice
from gitworker.repo.plumbing.refs import read_refs
from gitworker.review.comments.send import reject
from gitworker.service import open_repository
from gitworker.workers.cancel import cancel, reset
from gitworker.workers.start import resume, start
from gitworker.workers.submit import Submission, submit
from gitworker.workers.sync import sync
from tests.workers.world import World


def inbox(world: World, place: Path) -> list[tuple[str, str | None]]:
    """Return the texts and commands of the unread verdicts in a worker's inbox."""
    found = read_mail(world.session(place), limit=50)
    return [(item.text, item.command) for item in found.items if item.kind == "review_result"]


def test_a_hand_in_settles_verdicts(world: World) -> None:
    """Verdicts before the last hand-in are not shown; a reviewer's words have no command."""
    place = world.in_review("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    with pytest.raises(Conflict):
        world.approve("auth")
    assert inbox(world, place) == [("conflict: README", "git worker sync")]
    world.git("rebase", "-q", "-Xtheirs", "main", cwd=place)
    world.submit("auth")
    assert inbox(world, place) == []
    reject(world.session(), "auth", note="Add a test")
    words = "changes requested: Add a test"
    assert inbox(world, place) == [(words, "git worker done   # after your next commit")]
    world.commit("auth", {"test": "1\n"})
    world.submit("auth")
    assert inbox(world, place) == [(words, None)]
    world.approve("auth")
    assert inbox(world, place) == [("approved", None)]


def test_comments_of_a_request(world: World) -> None:
    """A request with comments also names the command that records them."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    reviewer = open_repository(str(world.root))
    reviewer.comment("auth", "a:1", text="Why?")
    reviewer.send_review("auth", verdict="changes_requested")
    ((_, command),) = inbox(world, place)
    assert command is not None
    assert command.startswith("git worker done   # after your next commit")
    assert command.endswith(" git worker review handled 1")


def test_verdicts_on_a_former_task(world: World) -> None:
    """A verdict on a task that the worker no longer has is not shown."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    reject(world.session(), "auth", note="Add a test")
    assert len(inbox(world, place)) == 1
    cancel(world.session(), "auth")
    world.spawn("auth", "logout")
    assert inbox(world, world.path("auth")) == []


def everything(world: World, place: Path) -> list[tuple[str, str, str | None]]:
    """Return kind, text and command of each item in a worker's inbox."""
    found = read_mail(world.session(place), limit=50).items
    return [(item.kind, item.text, item.command) for item in found if item.kind != "task_assign"]


@pytest.mark.parametrize("stage", ["in_review", "approved"])
def test_commits_after_the_hand_in(world: World, stage: str) -> None:
    """Later commits are named with `done` until they are handed in; a rebase is no later commit."""
    place = getattr(world, stage)("auth", "login", {"a": "1\n"})
    world.advance({"other": "1\n"})
    world.git("rebase", "-q", "main", cwd=place)
    assert [one for one in everything(world, place) if one[0] == "branch"] == []
    world.commit("auth", {"b": "2\n"})
    late = ("branch", "1 commit of auth/login is not handed in", "git worker done auth")
    assert everything(world, place)[-1] == late
    assert not Inbox("auth", 0, read_mail(world.session(place), limit=50).items[-1:]).has_news
    session = world.session(place)
    (line,) = read_status(session, read_refs(session.git, ["refs/heads/"])).workers
    assert (line.news, line.next_command) == late[1:]
    view = read_show(session, world.worker("auth"))
    assert view.next_command == "git worker done auth"
    world.submit("auth")
    assert [one for one in everything(world, place) if one[0] == "branch"] == []


def test_commits_after_the_landing(world: World) -> None:
    """Commits in a kept worktree after the landing are named with the command that helps."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.land("auth", keep=True)
    world.commit("auth", {"b": "2\n"})
    words = "branch auth/login has 1 commit since its task landed"
    command = "git worker assign auth login-2 --from auth/login"
    assert everything(world, place)[-1] == ("branch", words, command)


@pytest.mark.parametrize("kind", ["cancel", "reset"])
def test_a_task_that_was_taken_away(world: World, kind: str) -> None:
    """The worker hears of a cancel and a reset by others; its next verb names it, undo ends it."""
    place = world.working("auth", "login", {"a": "1\n"})
    if kind == "reset":
        fail(world.session(), "auth", reason="no network")
    freed = {"cancel": cancel, "reset": reset}[kind](world.session(), "auth")
    words = {"cancel": "cancelled", "reset": "taken from the worker"}[kind]
    told = f"task login was {words} by hq"
    mine = world.session(identity="auth")
    (item,) = [one for one in read_mail(mine, limit=50).items if one.kind == "x-task-ended"]
    assert item.text == f"{told}; its work is kept under {freed.rescue_ref}"
    for verb in (
        lambda: submit(mine, "auth", Submission()), lambda: start(mine, "auth"),
        lambda: resume(mine, "auth"), lambda: sync(mine), lambda: fail(mine, "auth", reason="x"),
    ):  # fmt: skip
        with pytest.raises(Refused) as caught:
            verb()
        assert caught.value.message == f"{told}, so worker auth has no task"
        assert caught.value.hint == "git worker inbox --as auth"
    said: list[Event] = []
    for actor, hint in (("auth", "git worker inbox --as auth"), ("hq", "git worker show auth")):
        session = world.session(identity=actor, report=said.append)
        take_up_by_heartbeat(session, world.worker("auth"))
        warning = f"warning: {told}, so worker auth has no task\nhint: {hint}"
        assert said.pop() == Notice(warning)
    post = LaunchContext(mine.store, mine.paths, "auth")
    with pytest.raises(Refused, match=f"{told}, so worker auth has no task") as caught:
        require_worker(post, "auth")
    assert caught.value.hint == "git worker assign auth <task>"
    undo(world.session())
    item = read_mail(world.session(place), limit=50).items[-1]
    assert (item.kind, item.text) == ("x-task-returned", "task login is back: git worker show")


def test_a_task_given_up_by_its_worker(world: World) -> None:
    """A worker hears nothing of its own cancel."""
    place = world.working("auth", "login", {"a": "1\n"})
    cancel(world.session(place), "auth")
    assert everything(world, world.root) == []
    assert read_mail(world.session(identity="auth"), limit=50).items[1:] == ()


def test_a_task_that_another_worker_got(world: World) -> None:
    """A failed worker hears that its task was given to another one."""
    world.working("auth", "login", {"a": "1\n"})
    world.git("config", "worker.task.retry-delay-s", "0")
    fail(world.session(), "auth", reason="no network")
    sweep(world.session())
    world.spawn("docs", "login")
    text = "task login was given to docs by hq"
    found = read_mail(world.session(identity="auth"), limit=50).items
    assert ("x-task-ended", text) in [(item.kind, item.text) for item in found]
