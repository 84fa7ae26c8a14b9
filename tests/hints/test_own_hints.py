"""What a worker is told about its own work, and about branches and processes in the way."""

import subprocess

import pytest

from gitworker.liveness.processes import processes_in
from tests.cli.test_hint_walk import approved, failed, in_review
from tests.hints.case import Case, by, check
from tests.hints.following import note
from tests.hints.test_usage_hints import W, _working
from tests.hints.test_worker_hints import commit, verify_untrusted
from tests.workers.world import World

VERDICT, LANDED = W + "wait {} --for verdict", W + "wait {} --for landed"


def late(world: World) -> None:
    """Commit after the hand-in."""
    in_review(world)
    commit(world)


def renamed(world: World) -> None:
    """Rename the branch of work in review."""
    in_review(world)
    world.git("branch", "-m", "login", cwd=world.path("auth"))


def approved_and_renamed(world: World) -> None:
    """Rename the branch of approved work."""
    approved(world)
    world.git("branch", "-m", "login", cwd=world.path("auth"))


def swapped(world: World) -> None:
    """Have two workers whose worktrees have each other's branches."""
    world.working("auth", "login", {"a": "1\n"})
    world.working("docs", "guide", {"b": "1\n"})
    world.git("checkout", "-q", "--detach", cwd=world.path("auth"))
    world.git("checkout", "-q", "auth/login", cwd=world.path("docs"))
    world.git("checkout", "-q", "docs/guide", cwd=world.path("auth"))


def taken_branch(world: World) -> None:
    """Check the worker's branch out in a worktree of the user's."""
    _working(world)
    world.git("checkout", "-q", "--detach", cwd=world.path("auth"))
    world.git("worktree", "add", "-q", "../mine", "auth/login")


CASES = {
    "start-review": Case(in_review, W + "start", VERDICT, at="auth", instead=True),
    "resume-review": Case(in_review, W + "resume", VERDICT, at="auth", instead=True),
    "exec-review": Case(in_review, W + "exec -- true", VERDICT, at="auth", instead=True),
    "start-approved": Case(approved, W + "start", LANDED, at="auth", instead=True),
    "exec-approved": Case(approved, W + "exec -- true", LANDED, at="auth", instead=True),
    "merge-approved": Case(approved, W + "merge auth", LANDED, at="auth", instead=True),
    "land-at-work": Case(_working, W + "land auth", W + "done", at="auth", instead=True),
    "land-failed": Case(failed, W + "land auth", W + "done", at="auth", instead=True),
    "approve-idle": Case(
        by(W + "spawn auth login", W + "cancel auth"), W + "--as auth approve auth",
        W + "show {}", instead=True,
    ),
    "merge-late": Case(late, W + "merge auth", W + "done {}", instead=True),
    "approve-renamed": Case(renamed, W + "approve auth", "git branch -m {} {}"),
    "land-renamed": Case(renamed, W + "land auth", "git branch -m {} {}"),
    "sync-renamed": Case(renamed, W + "sync --as auth", "git branch -m {} {}"),
    "diff-renamed": Case(renamed, W + "diff auth", "git branch -m {} {}"),
    "verify-renamed": Case(renamed, W + "verify auth", "git branch -m {} {}"),
    "merge-renamed": Case(approved_and_renamed, W + "merge auth", "git branch -m {} {}"),
    "swapped": Case(
        swapped, W + "done auth", "git -C {} switch --detach && git -C {} switch {}"
    ),
    "taken-branch": Case(
        taken_branch, W + "done auth", "git -C {} switch --detach && git -C {} switch {}"
    ),
    "inbox-untrusted": Case(verify_untrusted, W + "inbox --json", W + "trust", instead=True),
    "task-alone": Case(
        by(W + "task add docs -m words"), W + "show docs", W + "task why {}", instead=True
    ),
    "task-alone-heartbeat": Case(
        by(W + "task add docs -m words"), W + "heartbeat docs", W + "task why {}", instead=True
    ),
    "task-cancelled": Case(
        by(W + "task add docs -m words", W + "task cancel docs"), W + "done docs",
        W + "task show {}", instead=True,
    ),
    "assign-unknown": Case(
        _working, W + "assign docs guide -m 'Write it' --from auth",
        W + "spawn docs guide -m 'Write it' --from auth", instead=True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_own_hint_helps(quiet: World, name: str) -> None:
    """A worker waits for others or hands in; a branch or a task in the way has its command."""
    check(quiet, CASES[name])


def test_a_branch_in_two_worktrees_is_not_repaired(quiet: World) -> None:
    """fsck names the way out and does not check the branch out a second time."""
    taken_branch(quiet)
    check(
        quiet,
        Case(
            lambda _: None,
            W + "fsck --repair",
            "git -C {} switch --detach && git -C {} switch {}",
        ),  # fmt: skip
    )
    listed = quiet.git("worktree", "list")
    assert listed.count("[auth/login]") == 1


def test_a_caller_in_the_worktree_is_sent_out(quiet: World) -> None:
    """`cancel` in the worker's own directory names the directory to change to."""
    _working(quiet)
    place = quiet.path("auth")
    script = "git worker cancel auth || { cd {main} && git worker cancel auth; }"
    done = subprocess.run(
        ["sh", "-c", script.replace("{main}", str(quiet.root))],
        cwd=place, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert f"hint: cd {quiet.root}   # and run the command again" in done.stderr
    note(f"cd {quiet.root}", done.stderr)


def test_a_foreign_process_in_the_worktree_is_shown(quiet: World) -> None:
    """`cancel` names the command that shows a process of others in the directory."""
    _working(quiet)
    place = quiet.path("auth")
    sleeper = subprocess.Popen(["sleep", "600"], cwd=place)
    try:
        assert processes_in(str(place)) == [sleeper.pid]
        check(quiet, Case(lambda _: None, W + "cancel auth", "ps -fp {}", instead=True))
    finally:
        sleeper.kill()
        sleeper.wait()
