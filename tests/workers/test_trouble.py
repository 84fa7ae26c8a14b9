"""An unusual worktree or branch: every view names one and the same command, and it helps."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.observe.next_step.trouble import read_trouble
from gitworker.progress import Notice
from gitworker.workers.submit import Submission, submit
from tests.cli.kit import ok, run
from tests.workers.damaging import detached, on_branch_of_another, on_target
from tests.workers.test_ownership_hints import follow
from tests.workers.world import World

Damage = Callable[[World, Path], object]


def on_new_branch(world: World, place: Path) -> None:
    """Begin another branch in the worktree."""
    world.git("switch", "-q", "-c", "side", cwd=place)


def ahead_on_new_branch(world: World, place: Path) -> None:
    """Commit on another branch in the worktree."""
    on_new_branch(world, place)
    world.git("commit", "-q", "--allow-empty", "-m", "Beside", cwd=place)


def ahead_detached(world: World, place: Path) -> None:
    """Commit on a detached HEAD."""
    detached(world, place)
    world.git("commit", "-q", "--allow-empty", "-m", "Beside", cwd=place)


def diverged_detached(world: World, place: Path) -> None:
    """Amend on a detached HEAD."""
    detached(world, place)
    world.git("commit", "-q", "--amend", "-m", "Amended", cwd=place)


def renamed(world: World, place: Path) -> None:
    """Rename the branch, and commit on it."""
    world.git("branch", "-m", "auth/login", "better")
    world.git("commit", "-q", "--allow-empty", "-m", "More", cwd=place)


def deleted(world: World, place: Path) -> None:
    """Delete the branch, on which the worktree is."""
    world.git("update-ref", "-d", "refs/heads/auth/login")


def deleted_and_left(world: World, place: Path) -> None:
    """Delete the branch after the worktree has left it."""
    on_new_branch(world, place)
    world.git("branch", "-q", "-D", "auth/login")


def removed(world: World, place: Path) -> None:
    """Remove the directory of the worktree."""
    shutil.rmtree(place)


def removed_by_git(world: World, place: Path) -> None:
    """Remove the worktree as git does."""
    world.git("worktree", "remove", "--force", "--force", str(place))


def moved_away(world: World, place: Path) -> None:
    """Move the worktree by hand to a place that no command searches."""
    (world.root.parent / "far").mkdir()
    place.rename(world.root.parent / "far" / "away")


DAMAGES: dict[str, Damage] = {
    one.__name__: one
    for one in (
        on_new_branch, ahead_on_new_branch, on_target, on_branch_of_another, detached,
        ahead_detached, diverged_detached, renamed, deleted, deleted_and_left, removed,
        removed_by_git, moved_away,
    )
}  # fmt: skip
OTHER_COMMANDS = (
    ("done",), ("start",), ("sync",), ("path",), ("resume",), ("exec", "--", "true"),
    ("diff", "--uncommitted"),
)  # fmt: skip
BY_BRANCH = ("removed_by_git",)  # `done` needs no worktree that git does not know


def named_by_status(world: World) -> str:
    """Return the command that `status` names for the worker."""
    lines = ok(world.root, "status").splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("auth "))
    return lines[at + 1].strip().removeprefix("→ ")


@pytest.mark.parametrize("damage", DAMAGES)
def test_one_command_helps(world: World, damage: str) -> None:
    """status, show, done, doctor and fsck agree on the command, and after it `done` succeeds."""
    world.working("bob", "form", {"b": "1\n"})
    place = world.working("auth", "login", {"a": "1\n"})
    ok(world.root, "status")
    DAMAGES[damage](world, place)
    commits = set(world.git("rev-list", "--all", "--reflog").splitlines())
    shown = run(world.root, "show", "auth", "--json").document["trouble"]
    command = shown["command"]
    assert ok(world.root, "show", "auth").endswith(f"next: {command}")
    assert named_by_status(world) == command
    (line,) = (
        one for one in run(world.root, "status", "--json").document["workers"]
        if one["worker"] == "auth"
    )  # fmt: skip
    assert line["trouble"] == shown
    done = run(world.root, "done", "auth")
    if damage not in BY_BRANCH:
        assert done.status == 1
        assert f"hint: {command}" in done.err
        assert shown["message"] in done.err
        assert f"→ {command}" in run(world.root, "doctor").out
        checked = run(world.root, "fsck").out
        assert f"{command}\n" in checked or command == "git worker fsck --repair", checked
        followed = follow(world, command)
        assert followed.status == 0, followed
        assert run(world.root, "show", "auth", "--json").document["trouble"] is None
        assert ok(world.root, "fsck").endswith("no findings")
        ok(world.root, "done", "auth")
    assert world.worker("auth").state.value == "IN_REVIEW"
    reached = set(world.git("rev-list", "--all").splitlines())
    if damage != "diverged_detached":  # the branch keeps the commit before the amend
        assert commits <= reached


@pytest.mark.parametrize("damage", ["removed", "removed_by_git", "moved_away"])
def test_a_missing_worktree_has_one_hint(world: World, damage: str) -> None:
    """Each command that needs a missing worktree names the same reason and command as `show`."""
    place = world.working("auth", "login", {"a": "1\n"})
    DAMAGES[damage](world, place)
    shown = run(world.root, "show", "auth", "--json").document["trouble"]
    for verb, *words in OTHER_COMMANDS:
        if (damage, verb) == ("removed_by_git", "done"):  # hands in the commits of the branch
            continue
        refused = run(world.root, verb, "auth", *words)
        expected = f"error: {shown['message']}\nhint: {shown['command']}"
        assert (refused.status, refused.err.strip()) == (4 if verb == "path" else 1, expected)
    items = run(world.root, "inbox", "--json").document["items"]
    assert shown["command"] in [one["command"] for one in items]


def to_failed(world: World) -> None:
    """Let the worker give up."""
    ok(world.root, "fail", "auth", "-m", "No library")


def to_returned(world: World) -> None:
    """Send the work of the worker back."""
    world.submit("auth")
    ok(world.root, "reject", "auth", "-m", "Again")


@pytest.mark.parametrize("damage", ["removed", "removed_by_git", "moved_away"])
@pytest.mark.parametrize("to_state", [to_failed, to_returned])
def test_work_to_resume_without_its_worktree(
    world: World, damage: str, to_state: Callable[[World], None]
) -> None:
    """status, show and inbox name the command that helps, not a refused `resume`."""
    place = world.working("auth", "login", {"a": "1\n"})
    to_state(world)
    DAMAGES[damage](world, place)
    refused = run(world.root, "resume", "auth")
    command = refused.err.strip().rpartition("hint: ")[2]
    assert refused.status == 1
    assert named_by_status(world) == command
    assert ok(world.root, "show", "auth").endswith(f"next: {command}")
    (item,) = run(world.root, "inbox", "--json").document["items"]
    assert item["command"] == command
    assert item["text"].endswith(refused.err.partition("error: ")[2].splitlines()[0])
    assert follow(world, command).status == 0
    ok(world.root, "resume", "auth")
    assert world.worker("auth").state.value == "WORKING"


@pytest.mark.parametrize("damage", ["removed", "moved_away"])
def test_a_missing_worktree_is_made_again(world: World, damage: str) -> None:
    """The command makes it with the staged files and the index; amended commits are kept."""
    place = world.working("auth", "login", {"a": "1\n"})
    amended = world.tip("auth/login")
    Repo(place).write({"staged": "1\n", "README": "unstaged\n"})
    world.git("commit", "-q", "--amend", "-m", "Amended", cwd=place)
    world.git("add", "staged", cwd=place)
    index = world.git("ls-files", "-s", cwd=place)
    DAMAGES[damage](world, place)
    done = follow(world, "git worker cancel auth")
    assert "its commits and staged files are kept under refs/worker/rescue/auth/login/" in done.out
    assert f"its worktree was not at {place}, so no other uncommitted work was found" in done.out
    assert follow(world, "git worker undo").status == 0
    assert world.git("ls-files", "-s", cwd=place) == index
    assert world.git("status", "--porcelain", cwd=place) == "A  staged"
    kept = world.git("rev-list", "--glob=refs/worker/rescue").splitlines()
    assert amended in kept


@pytest.mark.parametrize("index", ["unmerged", "damaged", "none"])
def test_a_missing_worktree_with_an_unusual_index(world: World, index: str) -> None:
    """Conflicting sides are kept; a damaged or missing index does not prevent the cancel."""
    place = world.working("auth", "login", {"README": "ours\n"})
    admin = Path(world.worker("auth").admin_dir or "")
    if index == "unmerged":
        world.git("checkout", "-q", "-b", "side", "main", cwd=place)
        Repo(place).commit("Side", {"README": "theirs\n"})
        world.git("checkout", "-q", "auth/login", cwd=place)
        run_git = ("git", "-C", str(place), "merge", "-q", "side")
        subprocess.run(run_git, check=False, capture_output=True, timeout=300)
        assert world.git("ls-files", "--unmerged", cwd=place)
    elif index == "damaged":
        (admin / "index").write_bytes(b"garbage")
    else:
        (admin / "index").unlink()
    shutil.rmtree(place)
    assert follow(world, "git worker cancel auth && git worker undo").status == 0
    assert world.git("status", "--porcelain", cwd=place) == ""
    subjects = world.git("log", "--format=%s", "--glob=refs/worker/rescue").splitlines()
    assert ("gitworker: conflict of auth/login" in subjects) is (index == "unmerged")


def test_diverged_commits_twice(world: World) -> None:
    """The branch that keeps diverged commits of a detached HEAD has a free name each time."""
    place = world.working("auth", "login", {"a": "1\n"})
    for name in ("auth/login-detached", "auth/login-detached-2"):
        diverged_detached(world, place)
        trouble = read_trouble(world.session(), world.worker("auth"))
        assert trouble is not None
        assert trouble.command.endswith(f"   # its commits: git cherry-pick auth/login..{name}")
        assert follow(world, trouble.command).status == 0
        assert read_trouble(world.session(), world.worker("auth")) is None
        assert world.git("log", "-1", "--format=%s", name) == "Amended"


def test_stashed_work(world: World) -> None:
    """`done` reports work of the branch in the stash, which is not handed in."""
    place = world.working("auth", "login", {"a": "1\n"})
    heard: list[object] = []
    submit(world.session(report=heard.append), "auth", Submission())
    assert heard == []
    Repo(place).write({"a": "2\n"})
    world.git("stash", "-q", cwd=place)
    world.commit("auth", {"b": "1\n"})
    submit(world.session(report=heard.append), "auth", Submission())
    assert heard == [Notice("stashed work of auth/login is not handed in; see: git stash list")]


def test_an_open_rebase_is_no_detached_head(world: World) -> None:
    """A rebase of the branch, in which HEAD is detached, is to be continued, not switched away."""
    place = world.working("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    assert run(place, "sync").status == 3
    trouble = run(world.root, "show", "auth", "--json").document["trouble"]
    assert trouble["code"] == "rebase_stopped"
    assert "git worker sync --continue" in trouble["command"]


def test_commits_after_the_landing(world: World) -> None:
    """done and show offer a new task on a kept branch with later commits; it takes them over."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.land("auth", keep=True)
    assert run(world.root, "show", "auth", "--json").document["trouble"] is None
    later = world.commit("auth", {"b": "2\n"}, "Later")
    command = "git worker assign auth login-2 --from auth/login"
    refused = run(place, "done")
    assert (refused.status, refused.err.splitlines()) == (1, [
        "error: branch auth/login has 1 commit since its task landed", f"hint: {command}",
    ])  # fmt: skip
    assert ok(world.root, "show", "auth").endswith(f"next: {command}")
    assert named_by_status(world) == command
    assert follow(world, command).status == 0
    assert world.tip("auth/login-2") == later
    ok(world.root, "start", "auth")
    ok(world.root, "done", "auth")


def test_uncommitted_work_after_the_landing(world: World) -> None:
    """`done` in a kept worktree commits the work on request, and offers a task for it."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.land("auth", keep=True)
    Repo(place).write({"b": "2\n"})
    refused = run(place, "done")
    assert (refused.status, "has uncommitted work: 1 untracked" in refused.err) == (1, True)
    assert "hint: git worker done auth --commit -m" in refused.err
    offered = run(place, "done", "--commit", "-m", "Later")
    assert "hint: git worker assign auth login-2 --from auth/login\n" in offered.err


def recycled(world: World, place: Path) -> None:
    """Make the worker idle."""
    ok(world.root, "recycle", "auth")


def with_the_commits(world: World, place: Path) -> None:
    """Give the worker its later commits as a task, and commit once more in the old worktree."""
    ok(world.root, "assign", "auth", "login-2", "--from", "auth/login")
    Repo(place).commit("More", {"c": "3\n"})


def with_another_task(world: World, place: Path) -> None:
    """Give the worker another task, with a commit of its own."""
    ok(world.root, "assign", "auth", "logout")
    world.commit("auth", {"d": "4\n"})


@pytest.mark.parametrize("then", [recycled, with_the_commits, with_another_task])
def test_an_old_worktree(world: World, then: Damage) -> None:
    """`done` in the kept worktree of an earlier task names commands that lead to their landing."""
    place = world.approved("auth", "login", {"a": "1\n"})
    world.land("auth", keep=True)
    world.commit("auth", {"b": "2\n"}, "Later")
    then(world, place)
    refused = run(place, "done")
    words = "error: branch auth/login has 1 commit since its task login ended"
    assert (refused.status, refused.err.splitlines()[0]) == (1, words)
    assert follow(world, refused.err.splitlines()[1].removeprefix("hint: ")).status == 0
    owner = "auth-2" if then is with_another_task else "auth"
    ok(*((world.root, "done", owner) if owner == "auth-2" else (place, "done")))
    ok(world.root, "land", owner)
    landed = world.git("ls-tree", "--name-only", "main").splitlines()
    assert {"a", "b", *(["c"] if then is with_the_commits else [])} <= set(landed)
    assert "since its task" not in run(place, "done").err
