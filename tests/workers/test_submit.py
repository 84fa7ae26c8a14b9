"""done: the work that is submitted for review, and the work that is refused."""

import os

import pytest

from fixtures.repos import Repo
from gitworker.bus.drain import drain
from gitworker.errors import Conflict
from gitworker.journal.undo.undo import undo
from gitworker.lifecycle.fail import fail
from gitworker.progress import Notice
from gitworker.repo.plumbing.git import GitFailed
from gitworker.review.comments.send import reject
from gitworker.store.messages.inboxes import newest_verdict
from gitworker.workers.cancel import cancel
from gitworker.workers.start import start
from gitworker.workers.submit import Submission, submit
from gitworker.workers.sync import sync
from tests.workers.world import World, unchanged


def test_submit(world: World) -> None:
    """A submission brings worker and task into review and reports branch and commit."""
    world.working("auth", "login", {"a": "1\n"})
    done = world.submit("auth", note="please look", pr_url="https://example.org/1")
    assert (done.commit, done.commits, done.conflicts) == (world.tip("auth/login"), 1, ())
    assert (done.worker.review_state, done.worker.pr_url) == ("pending", "https://example.org/1")
    assert world.states("auth", "login") == ("IN_REVIEW", "AWAITING_APPROVAL")
    payload = {
        "branch": "auth/login", "commit": done.commit, "note": "please look",
        "pr_url": "https://example.org/1",
    }  # fmt: skip
    assert world.messages("task_done") == world.messages("review_request") == [payload]
    (progress,) = world.messages("task_progress")
    assert (progress["commit"], progress["files_changed"]) == (done.commit, ["a"])


def test_pull_request(world: World) -> None:
    """The task has the address too, and it comes back with the task."""
    world.in_review("auth", "login", {"a": "1\n"})
    assert (world.task("login").pr_url, "pr_url" in world.messages("task_done")[0]) == (None, False)
    reject(world.session(), "auth", note="again")
    world.submit("auth", pr_url="https://example.org/1", note="only the address")
    reject(world.session(), "auth", note="again")
    world.submit("auth", note="as before")
    assert world.messages("review_request")[-1]["pr_url"] == "https://example.org/1"
    cancel(world.session(), "auth")
    assert (world.task("login").pr_url, world.worker("auth").pr_url) == (
        "https://example.org/1",
        None,
    )
    undo(world.session())
    assert world.worker("auth").pr_url == world.view("auth")["pr_url"] == "https://example.org/1"


def test_review_file_of_a_request(world: World) -> None:
    """The review file shows the request with the commit that is to be reviewed."""
    world.in_review("auth", "login", {"a": "1\n"})
    view = world.view("auth", "reviews")
    assert (view["verdict"], view["review_state"]) == ("requested", "pending")
    assert view["commit"] == world.tip("auth/login")
    assert world.view("auth")["review_state"] == "pending"


def test_conflict_is_reported_early(world: World) -> None:
    """A submission reports at once the files that would conflict with the target, and is valid."""
    world.working("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    assert world.submit("auth").conflicts == ("README",)
    assert world.states("auth", "login")[0] == "IN_REVIEW"


def sent_back(world: World) -> None:
    """Let the approval of `auth` end with a conflict in README."""
    world.in_review("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    with pytest.raises(Conflict):
        world.approve("auth")


def test_the_same_conflict_again(world: World) -> None:
    """The commit that was sent back for its conflict is refused, with the files and `sync`."""
    sent_back(world)
    with unchanged(world, "rebase_conflict", Conflict) as caught:
        world.submit("auth")
    assert caught.value.detail == "  README"
    assert caught.value.hint == "git worker sync --as auth"


def test_a_conflict_that_was_settled(world: World) -> None:
    """If the target or the branch has changed since, the work is handed in again."""
    sent_back(world)
    world.advance({"README": "one\ntwo\nthree\n"})
    assert world.submit("auth").conflicts == ()


def test_a_further_commit_after_a_conflict(world: World) -> None:
    """With another commit on top the request is accepted, and the conflict is reported."""
    sent_back(world)
    world.commit("auth", {"b": "1\n"})
    assert world.submit("auth").conflicts == ("README",)


@pytest.mark.parametrize(
    ("steps", "target", "files"),
    [
        ([{"README": "x\n"}, {"README": "one\ntwo\nthree\n", "b": "1\n"}], ["y\n"], ("README",)),
        ([{"README": "x\n"}, {"b": "1\n"}], ["x\n", "z\n"], ()),
    ],
)
def test_the_answer_is_that_of_a_rebase(
    world: World, steps: list[dict[str, str]], target: list[str], files: tuple[str, ...]
) -> None:
    """A reverted change conflicts although a merge is clean; a commit that landed does not."""
    world.working("auth", "login", steps[0])
    world.commit("auth", steps[1])
    for text in target:
        world.advance({"README": text})
    assert world.submit("auth").conflicts == files


def test_uncommitted_work(world: World) -> None:
    """Uncommitted and untracked work is refused, with the counts."""
    place = world.working("auth", "login", {"a": "1\n"})
    Repo(place).write({"a": "2\n", "b": "new\n"})
    with unchanged(world, "uncommitted") as caught:
        world.submit("auth")
    assert "1 unstaged, 1 untracked" in caught.value.message


def test_commit_on_the_way(world: World) -> None:
    """With a message the remaining changes are committed and submitted."""
    place = world.working("auth", "login", {"a": "1\n"})
    Repo(place).write({"a": "2\n", "b": "new\n"})
    done = world.submit("auth", commit_message="The rest")
    assert done.commits == 2
    assert world.show("b", done.commit) == "new"
    assert world.git("status", "--porcelain", cwd=place) == ""


def test_empty_branch(world: World) -> None:
    """A branch without a commit of its own is nothing to review."""
    world.spawn("auth", "login")
    start(world.session(), "auth", pid=os.getpid())
    with unchanged(world, "empty_branch"):
        world.submit("auth")


def test_open_merge(world: World) -> None:
    """A merge that is open in the worktree must be ended first."""
    place = world.working("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    Repo(place).run("merge", "main")
    with unchanged(world, "operation_open"):
        world.submit("auth")


def test_a_deleted_branch(world: World) -> None:
    """A deleted branch is reported as deleted."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("checkout", "-q", "--detach", cwd=place)
    world.git("branch", "-D", "auth/login")
    with unchanged(world) as caught:
        world.submit("auth")
    assert "branch auth/login does not exist" in caught.value.message


def test_submit_from_the_worktree(world: World) -> None:
    """Without a name the worker of the current worktree submits."""
    place = world.working("auth", "login", {"a": "1\n"})
    submit(world.session(place), None, Submission())
    assert world.worker("auth").state == "IN_REVIEW"


@pytest.mark.parametrize(
    ("stage", "note", "end"),
    [
        ("in_review", "", ": nothing changed"),
        ("in_review", "please look", ": nothing changed"),
        ("approved", "", ": nothing changed"),
        ("approved", "again", ": nothing changed; to add a note: git worker send hq <text>"),
    ],
)
def test_submit_twice(world: World, stage: str, note: str, end: str) -> None:
    """Work that was handed in is not handed in again: nothing changes."""
    world.working("auth", "login", {"a": "1\n"})
    world.submit("auth", note="please look")
    if stage == "approved":
        world.approve("auth")
    before = world.picture()
    said: list[Notice] = []
    done = submit(world.session(report=said.append), "auth", Submission(note))  # type: ignore[arg-type]
    assert done.commit == world.tip("auth/login")
    assert said[0].text.startswith(f"worker auth is {stage.replace('_', ' ')} since ")
    assert said[0].text.endswith(end)
    assert world.picture() == before


@pytest.mark.parametrize(
    "added", [{"note": "Better words"}, {"pr_url": "https://example.org/1"}], ids=["note", "pr"]
)
def test_a_new_note_renews_the_request(world: World, added: dict[str, str]) -> None:
    """A new note or address for the same commit renews the request without a transition."""
    world.working("auth", "login", {"a": "1\n"})
    world.submit("auth", note="please look")
    version = world.worker("auth").version
    renewed = {"note": "please look", **added}
    for _ in range(2):
        world.submit("auth", **added)
        assert world.worker("auth").version == version
        requests = world.messages("review_request")
        assert len(requests) == 2, "the second time nothing is new"
        assert requests[1] == {**requests[0], **renewed}
    assert len(world.messages("task_done")) == 1
    assert world.view("auth", "reviews")["note"] == renewed["note"]


def test_new_commits_renew_the_request(world: World) -> None:
    """Commits after the submission are handed in without a transition, by a new message."""
    world.in_review("auth", "login", {"a": "1\n"})
    version = world.worker("auth").version
    tip = world.commit("auth", {"a": "2\n"})
    assert world.submit("auth", note="Better").commits == 2
    assert world.worker("auth").version == version
    requests = world.messages("review_request")
    assert [request["commit"] for request in requests][1:] == [tip]
    assert len(world.messages("task_done")) == 1
    assert world.view("auth", "reviews")["commit"] == tip
    assert world.approve("auth").commit == tip


def test_new_commits_after_the_approval(world: World) -> None:
    """Commits after the approval are handed in for a new review; the approval is withdrawn."""
    world.approved("auth", "login", {"a": "1\n"})
    tip = world.commit("auth", {"a": "2\n"})
    assert world.submit("auth").worker.state == "IN_REVIEW"
    assert world.view("auth", "reviews")["commit"] == tip
    assert world.approve("auth").commit == tip


def test_submit_starts(world: World) -> None:
    """A worker that has committed and not started is started, and its work handed in."""
    world.spawn("auth", "login")
    world.commit("auth", {"a": "1\n"})
    assert world.submit("auth").worker.state == "IN_REVIEW"


def test_an_empty_branch_is_not_started(world: World) -> None:
    """A refused submission of a worker without commits leaves it ASSIGNED."""
    world.spawn("auth", "login")
    with unchanged(world, "empty_branch"):
        world.submit("auth")


def test_submit_resumes(world: World) -> None:
    """A worker that has failed hands its work in all the same."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no")
    assert world.submit("auth").worker.state == "IN_REVIEW"
    assert world.task("login").assigned_agent_id == "auth"


def test_submit_of_a_task_that_another_worker_holds(world: World) -> None:
    """A failed worker whose task another worker has taken hands nothing in."""
    world.working("auth", "login", {"a": "1\n"})
    fail(world.session(), "auth", reason="no")
    world.spawn("docs", "login")
    with unchanged(world, "task_taken"):
        world.submit("auth")
    Repo(world.path("auth")).write({"b": "new\n"})
    with unchanged(world, "task_taken"):
        world.submit("auth", commit_message="More")


def test_hook_of_the_user_may_refuse(world: World) -> None:
    """If the user's pre-commit hook refuses, the submission stops with git's message."""
    place = world.working("auth", "login", {"a": "1\n"})
    hook = world.root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho no way >&2\nexit 1\n")
    hook.chmod(0o755)
    Repo(place).write({"b": "new\n"})
    with pytest.raises(GitFailed) as caught:
        world.submit("auth", commit_message="More")
    assert "no way" in caught.value.detail
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")


def test_without_required_review(world: World) -> None:
    """If no review is required the task waits for its verification only."""
    world.git("config", "worker.review.required", "false")
    world.in_review("auth", "login", {"a": "1\n"})
    assert world.states("auth", "login") == ("IN_REVIEW", "VERIFYING")


def test_worktree_removed_by_hand(world: World) -> None:
    """A branch whose worktree was deleted can still be submitted."""
    place = world.working("auth", "login", {"a": "1\n"})
    world.git("worktree", "remove", "--force", "--force", str(place))
    assert world.submit("auth").commits == 1


def test_the_approved_commits_are_put_back(world: World) -> None:
    """After a withdrawn approval the same commit is handed in again, and waits for its verdict."""
    place = world.approved("auth", "login", {"a": "1\n"})
    approved = world.tip("auth/login")
    world.commit("auth", {"b": "2\n"})
    world.merge("auth")
    world.git("reset", "--hard", "-q", approved, cwd=place)
    world.submit("auth")
    with world.session().store.read() as reader:
        assert newest_verdict(reader, "auth", "login") is None
    requests = len(world.messages("review_request"))
    world.submit("auth")
    assert len(world.messages("review_request")) == requests, "it waits already"


def test_a_renewed_request_keeps_its_note(world: World) -> None:
    """New commits without a note keep the note of the request, and a new round has its own."""
    world.working("auth", "login", {"a": "1\n"})
    world.submit("auth", note="please look")
    world.commit("auth", {"b": "2\n"})
    world.submit("auth")
    assert world.messages("review_request")[-1]["note"] == "please look"
    reject(world.session(), "auth", note="more")
    world.commit("auth", {"c": "3\n"})
    world.submit("auth")
    assert world.messages("review_request")[-1]["note"] == ""


def test_unchanged_after_a_review(world: World) -> None:
    """The commit for which changes were requested is refused again, unless a note answers."""
    world.in_review("auth", "login", {"a": "1\n"})
    reject(world.session(), "auth", note="Add a\ntest")
    with unchanged(world, "unchanged", Conflict) as caught:
        world.submit("auth")
    assert caught.value.hint == "git worker done auth -m <text>"
    assert caught.value.detail == "  Add a test"
    assert world.submit("auth", note="There is one").worker.state == "IN_REVIEW"
    reject(world.session(), "auth", note="Where?")
    world.commit("auth", {"test": "1\n"})
    assert world.submit("auth").worker.state == "IN_REVIEW"


def test_work_that_is_in_the_target(world: World) -> None:
    """Work that landed by hand is not handed in; the command that closes the task is named."""
    world.working("auth", "login", {"a": "1\n"})
    drain(world.session())
    world.git("merge", "--quiet", "--ff-only", "auth/login")
    with unchanged(world, "landed_elsewhere") as caught:
        world.submit("auth")
    assert caught.value.message.startswith("the work of auth/login is in main already")
    assert (caught.value.hint or "").startswith("git worker cancel auth   # ")
    world.spawn("docs", "guide")
    world.advance({"other": "1\n"})
    sync(world.session(world.path("docs")))
    with unchanged(world, "empty_branch"):
        world.submit("docs")


@pytest.mark.parametrize("state", ["returned", "working"])
def test_a_branch_that_was_reset_to_its_base(world: World, state: str) -> None:
    """Commits that were reset away are not called landed; the named command brings them back."""
    world.working("auth", "login", {"a": "1\n"})
    last = world.tip("auth/login")
    drain(world.session())
    if state == "returned":
        world.submit("auth")
        reject(world.session(), "auth", note="No")
    world.git("reset", "-q", "--hard", "HEAD~1", cwd=world.path("auth"))
    with unchanged(world, "commits_dropped") as caught:
        world.submit("auth")
    assert "1 commit is not on auth/login any more" in caught.value.message
    assert caught.value.hint == f"git -C {world.path('auth')} reset --keep {last[:12]}"


def test_done_after_the_landing(world: World) -> None:
    """Landed work is not handed in again: nothing changes, and it is no error."""
    world.approved("auth", "login", {"a": "1\n"})
    world.land("auth")
    before, said = world.picture(), list[Notice]()
    done = submit(world.session(report=said.append), "auth", Submission())  # type: ignore[arg-type]
    assert (done.commit, done.commits) == (world.tip(), 0)
    assert said[0].text == "task login has landed in main already: nothing to hand in"
    assert world.picture() == before
