"""The hint of each refusal that concerns a worker's state or branch helps in that state."""

import subprocess

import pytest

from fixtures.repos import Repo
from gitworker.model.worker import WorkerState
from tests.cli.test_hint_walk import (
    approved,
    conflicting,
    failed,
    idle,
    in_review,
    landed,
    rebasing,
    rejected,
    unverified,
)
from tests.hints.case import Case, check
from tests.hints.following import Printed, follow, hints_of, note, perform
from tests.hints.templates import Template
from tests.hints.test_usage_hints import W, _fresh, _uncommitted, _working
from tests.workers.world import World, wait_until

ORIGIN = "origin.git"


def run_in(world: World, command: str, *, at: str = "") -> None:
    """Run a command of gitworker, whatever its status."""
    perform(command, Printed([], str(world.path(at) if at else world.root)))


def without_git_file(world: World) -> None:
    """Delete the file .git of a worktree."""
    _working(world)
    (world.path("auth") / ".git").unlink()


def two_branches(world: World) -> None:
    """Make a branch called auth, which no branch of a worker auth can be beside."""
    world.git("branch", "auth")


def own_branch(world: World) -> None:
    """Make the branch that a task would get."""
    world.git("branch", "auth/login")


def stacked(world: World) -> None:
    """Let docs, which is stacked on auth, wait for its review, as auth does."""
    in_review(world)
    world.spawn("docs", "guide", start="auth")
    run_in(world, "git worker start docs")
    world.commit("docs", {"guide": "1\n"})
    world.submit("docs")


def stacked_on_work(world: World) -> None:
    """Let docs, which is stacked on auth, wait for its review, while auth is at work."""
    _working(world)
    world.spawn("docs", "guide", start="auth")
    run_in(world, "git worker start docs")
    world.commit("docs", {"guide": "1\n"})
    world.submit("docs")


def hand_in(world: World) -> None:
    """Hand the work of auth in, as its author."""
    world.submit("auth")


def supervised(world: World) -> None:
    """Let a supervised agent work that ends once it may."""
    ends = "until test -e ../../gate; do sleep 0.05; done; echo 1 >f; git add f; git commit -qm f"
    run_in(world, f'git worker spawn auth login -d -- sh -c "{ends}"')
    wait_until(lambda: world.worker("auth").state is WorkerState.WORKING)


def open_gate(world: World) -> None:
    """Let the supervised agent end."""
    (world.root / "gate").touch()


def stacked_approved(world: World) -> None:
    """Approve auth and docs, which is stacked on it."""
    stacked(world)
    world.approve("auth")
    world.approve("docs")


def later(world: World) -> None:
    """Commit after the request for a review."""
    in_review(world)
    world.commit("auth", {"b": "1\n"})


def later_still(world: World) -> None:
    """Hand in two commits."""
    _working(world)
    world.commit("auth", {"b": "1\n"})
    world.submit("auth")


def moved_on(world: World) -> None:
    """Commit after the approval."""
    approved(world)
    world.commit("auth", {"b": "1\n"})


def emptied(world: World) -> None:
    """Reset the branch after the request for a review."""
    in_review(world)
    world.git("reset", "-q", "--hard", "main", cwd=world.path("auth"))


def landed_elsewhere(world: World) -> None:
    """Put the work on the target by hand."""
    _working(world)
    run_in(world, "git worker status")  # publishes the commit
    world.git("merge", "-q", "--ff-only", "auth/login")


def without_commit(world: World) -> None:
    """Start a task, and commit nothing."""
    world.spawn("auth", "login")
    run_in(world, "git worker start auth")


def failed_empty(world: World) -> None:
    """Give a task up before the first commit."""
    without_commit(world)
    run_in(world, "git worker fail auth -m 'No way'")


def resolve(world: World) -> None:
    """Resolve the conflict of a stopped rebase, as the author."""
    Repo(world.path("auth")).write({"README": "both\n"})
    world.git("add", "README", cwd=world.path("auth"))


def resolve_main(world: World) -> None:
    """Resolve the conflict of a merge in the main checkout, as its user."""
    Repo(world.root).write({"README": "both\n"})
    world.git("add", "README")


def ambiguous(world: World) -> None:
    """Give another branch the name of a task."""
    _working(world)
    world.git("branch", "login", "main")


def anonymous(world: World) -> None:
    """Take the user's name away."""
    in_review(world)
    world.git("config", "--global", "--remove-section", "user")
    world.git("config", "user.useConfigOnly", "true")


def nested(world: World) -> None:
    """Make a worktree inside the worker's."""
    _working(world)
    world.git("worktree", "add", "-q", "-b", "inner", str(world.path("auth") / "inner"))


def locked(world: World) -> None:
    """Lock the worker's worktree, as a user does."""
    _working(world)
    world.git("worktree", "unlock", str(world.path("auth")))
    world.git("worktree", "lock", str(world.path("auth")))


def taken_place(world: World) -> None:
    """Put a directory where the next worktree belongs."""
    _working(world)
    place = world.path("auth").parent
    for name in ("guide", "guide@docs"):
        (place / name).mkdir()
        (place / name / "mine").write_text("1\n")


def question(world: World) -> None:
    """Let the worker ask a question."""
    _working(world)
    run_in(world, 'git worker msg send x-question \'{"text": "which?"}\' --to hq', at="auth")


def asked(world: World) -> None:
    """Ask the worker a question."""
    _working(world)
    run_in(world, 'git worker msg send x-question \'{"text": "which?"}\' --to auth')


def blocked(world: World) -> None:
    """Let the worker report that it is blocked."""
    _working(world)
    run_in(world, "git worker heartbeat --status blocked", at="auth")


def taken_task(world: World) -> None:
    """Give the task of a failed worker to another."""
    failed(world)
    run_in(world, "git worker spawn docs login")


def reset_task(world: World) -> None:
    """Cancel the task of a failed worker by another."""
    taken_task(world)
    run_in(world, "git worker cancel docs")


def claimed(world: World) -> None:
    """Let auth hold a claim."""
    _working(world)
    run_in(world, "git worker claim take x:y", at="auth")


def late_after_landing(world: World) -> None:
    """Commit in the kept worktree of landed work."""
    approved(world)
    world.land("auth", keep=True)
    world.commit("auth", {"after": "1\n"})


def with_remotes(world: World) -> None:
    """Let auth work in a repository with two remotes."""
    _working(world)
    for name in ("origin", "up"):
        place = world.root.parent / f"{name}.git"
        world.git("init", "-q", "--bare", str(place))
        world.git("remote", "add", name, str(place))


def remote_for_landings(world: World) -> None:
    """Name a remote for landings that does not exist."""
    approved(world)
    world.git("config", "worker.merge.remote", "origin")
    world.git("init", "-q", "--bare", str(world.root.parent / ORIGIN))


def target_ahead(world: World) -> None:
    """Commit on the target, and keep it from the remote for landings."""
    with_remotes(world)
    world.submit("auth")
    world.approve("auth")
    world.git("push", "-q", "origin", "main")
    world.git("config", "worker.merge.remote", "origin")
    world.advance({"ahead": "1\n"})


def rebased_by_another(world: World) -> None:
    """Push other commits to the worker's branch on the remote."""
    with_remotes(world)
    world.git("push", "-q", "origin", "main:auth/login")
    world.git("commit", "-q", "--allow-empty", "-m", "Elsewhere")
    world.git("push", "-q", "origin", "+main:auth/login")
    world.git("reset", "-q", "--hard", "HEAD^")


def overlapping(world: World) -> None:
    """Change a file in the main checkout that a landing changes, too."""
    world.approved("auth", "login", {"README": "the worker's\n"})
    Repo(world.root).write({"README": "the user's\n"})


def untracked(world: World) -> None:
    """Have a file in the main checkout that a landing brings."""
    approved(world)
    (world.root / "a").write_text("mine\n")


def merging(world: World) -> None:
    """Leave a merge open in the main checkout."""
    approved(world)
    world.git("switch", "-q", "-c", "side")
    Repo(world.root).commit("Side", {"README": "side\n"})
    world.git("switch", "-q", "main")
    world.advance({"README": "main\n"})
    subprocess.run(["git", "merge", "-q", "side"], cwd=world.root, check=False, capture_output=True)


def merging_at_work(world: World) -> None:
    """Leave a merge open in the worker's worktree."""
    world.working("auth", "login", {"README": "mine\n"})
    world.advance({"README": "main\n"})
    place = world.path("auth")
    subprocess.run(["git", "merge", "-q", "main"], cwd=place, check=False, capture_output=True)


def staged_lock(world: World) -> None:
    """Leave git's lock of the index in the main checkout."""
    approved(world)
    (world.root / ".git" / "index.lock").touch()


def marked(world: World) -> None:
    """Commit conflict markers."""
    text = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"
    world.working("auth", "login", {"README": text})


def verify_untrusted(world: World) -> None:
    """Let the repository bring verify commands that nobody has read."""
    Repo(world.root).commit("Settings", {".gitworker.toml": '[verify]\ncommands = ["true"]\n'})
    approved(world)


def target_fails(world: World) -> None:
    """Have verify commands that the target itself does not pass."""
    approved(world)
    world.git("config", "worker.verify.commands", "false")


def no_target(world: World) -> None:
    """Delete the recorded target."""
    in_review(world)
    world.git("config", "worker.target", "release")


def commit(world: World) -> None:
    """Commit, as the author."""
    world.commit("auth", {"more": "1\n"})


def conflict_later(world: World) -> None:
    """Let the target conflict with approved work."""
    world.approved("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})


def conflict_before_approval(world: World) -> None:
    """Let the target conflict with work in review."""
    world.in_review("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})


def conflict_at_work(world: World) -> None:
    """Let the target conflict with work that is not handed in."""
    world.working("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})


def unverified_before(world: World) -> None:
    """Hand in work that does not pass the verify commands."""
    world.in_review("auth", "login", {"README": "broken\n"})
    world.git("config", "worker.verify.commands", "! grep broken README")


CASES = {
    "exec-idle": Case(idle, W + "exec auth -- true", W + "assign {} <task>"),
    "exec-review": Case(in_review, W + "exec auth -- true", W + "reject {} -m <text>"),
    "exec-approved": Case(approved, W + "exec auth -- true", W + "reject {} -m <text>"),
    "exec-landed": Case(landed, W + "exec auth -- true", W + "assign {} <task>"),
    "stop-ended": Case(_working, W + "stop auth", W + "{} {}"),
    "branch-blocked": Case(two_branches, W + "spawn auth login", "git branch -m {} <new-name>"),
    "branch-exists": Case(own_branch, W + "spawn auth login", "git branch -m {} <new-name>"),
    "at-foreign": Case(in_review, W + "approve auth --at main", W + "diff {}"),
    "at-another": Case(approved, W + "approve auth --at main", W + "diff {}"),
    "at-earlier": Case(later_still, W + "approve auth --at auth/login^", W + "approve {} --at {}"),
    "later-commits": Case(later, W + "approve auth", W + "approve {} --at {}"),
    "parent-first": Case(stacked, W + "approve docs", W + "approve {} {}"),
    "no-git-file": Case(without_git_file, W + "inbox", "cd {} && {}", at="auth"),
    "dropped": Case(emptied, W + "done auth", "git -C {} reset --keep {}", instead=True),
    "parent-at-work": Case(
        stacked_on_work, W + "approve docs", W + "wait {} && git worker approve {} {}",
        meets=hand_in,
    ),
    "agent-at-work": Case(
        supervised, W + "approve auth", W + "wait {}", meets=open_gate,
    ),
    "parent-lands-first": Case(stacked_approved, W + "merge docs", W + "merge {} {}"),
    "ambiguous": Case(
        ambiguous, W + "spawn docs x --from login", W + "spawn --from {}{} <worker> <task>",
        instead=True,
    ),
    "claim-taken": Case(claimed, W + "claim take x:y", W + "claim take {} --wait {}"),
    "claim-lost": Case(_fresh, W + "claim renew x:y --epoch 7", W + "claim take {}"),
    "unknown-worker": Case(_fresh, W + "assign auth login", W + "spawn {} {}"),
    "spawn-failed": Case(failed, W + "spawn auth next", W + "reset {}"),
    "own-review": Case(in_review, W + "approve auth", W + "wait {} --for verdict", at="auth"),
    "resume-taken": Case(taken_task, W + "resume auth", W + "show {}"),
    "resume-ended": Case(reset_task, W + "resume auth", W + "reset {}"),
    "inbox-failed": Case(failed, W + "inbox --json", W + "{}"),
    "inbox-taken": Case(taken_task, W + "inbox --json", W + "{}"),
    "inbox-question": Case(question, W + "inbox --json", W + "send {} --reply-to {} <text>"),
    "inbox-blocked": Case(blocked, W + "inbox --json", W + "send {} <text>"),
    "inbox-review": Case(in_review, W + "inbox --json", W + "{}"),
    "inbox-approved": Case(approved, W + "inbox --json", W + "{}"),
    "inbox-asked": Case(
        asked, W + "inbox --json", W + "send {} --reply-to {} <text>", at="auth"
    ),
    "inbox-rejected": Case(
        rejected, W + "inbox --json --no-ack", W + "done", at="auth", meets=commit
    ),
    "inbox-conflict": Case(conflicting, W + "inbox --json --no-ack", W + "sync", at="auth"),
    "inbox-unverified": Case(
        unverified, W + "inbox --json --no-ack", W + "done", at="auth", meets=commit
    ),
    "show-conflict": Case(conflicting, W + "show auth --json", W + "{}"),
    "show-returned": Case(rejected, W + "show auth --json", W + "{}"),
    "diff-unreviewed": Case(_working, W + "diff auth --since-review", W + "diff {}"),
    "status-task": Case(failed, W + "status", W + "task list {}"),
    "empty": Case(without_commit, W + "done auth", W + "cancel {}", instead=True),
    "empty-own": Case(
        without_commit, W + "done", W + "fail {} -m <reason>", at="auth", instead=True
    ),
    "empty-failed": Case(failed_empty, W + "done", W + "resume {}", at="auth", instead=True),
    "landed-elsewhere": Case(landed_elsewhere, W + "done auth", W + "cancel {}"),
    "unanswered": Case(rejected, W + "done auth", W + "done {} -m <text>"),
    "still-conflicts": Case(conflicting, W + "done auth", W + "sync --as {}"),
    "uncommitted": Case(_uncommitted, W + "done auth", W + "done {} --commit -m 'What I did'"),
    "rebase-stops": Case(
        conflicting, W + "sync --as auth", "cd {} && git worker sync --continue", meets=resolve
    ),
    "rebase-open": Case(
        rebasing, W + "done auth", "cd {} && git worker sync --continue", meets=resolve
    ),
    "status-rebase": Case(
        rebasing, W + "status", "cd {} && git worker sync --continue", meets=resolve
    ),
    "markers": Case(
        rebasing, W + "sync --as auth --continue", "cd {} && git worker sync --continue",
        meets=resolve,
    ),
    "merge-open": Case(
        merging_at_work, W + "done auth", "git -C {} merge --continue", meets=resolve
    ),
    "sync-idle": Case(landed, W + "sync --as auth", W + "show {}"),
    "moved-on": Case(moved_on, W + "approve auth", W + "done {}"),
    "nothing-left": Case(emptied, W + "approve auth", W + "reject {} -m <text>"),
    "anonymous": Case(
        anonymous, W + "approve auth", "git config user.name <name> && git config user.email <mail>"
    ),
    "wait-failed": Case(failed, W + "wait auth --for landed", W + "resume {}"),
    "wait-idle": Case(idle, W + "wait auth --for landed", W + "show {}"),
    "nested": Case(nested, W + "cancel auth", "git worktree move {} <directory>"),
    "locked": Case(locked, W + "cancel auth", "git worktree unlock {}"),
    "place-taken": Case(taken_place, W + "spawn docs guide", "mv {} {}.old"),
    "landed-late": Case(late_after_landing, W + "show auth --json", W + "assign {} {} --from {}"),
    "which-remote": Case(
        with_remotes, W + "done auth --push", W + "done {} --push --remote {}", instead=True
    ),
    "no-remote": Case(_working, W + "done auth --push", "git remote add origin <url>"),
    "remote-unknown": Case(remote_for_landings, W + "merge auth", "git remote add {} <url>"),
    "target-ahead": Case(target_ahead, W + "merge auth", "git push {} {}"),
    "remote-has-others": Case(
        rebased_by_another, W + "done auth --push --remote origin",
        "git fetch {} {} && git log {}..FETCH_HEAD",
    ),
    "overlap": Case(overlapping, W + "merge auth", "git -C {} stash"),
    "untracked": Case(untracked, W + "merge auth", "git -C {} status --ignored"),
    "main-busy": Case(
        merging, W + "merge auth", "git -C {} merge --continue", meets=resolve_main
    ),
    "main-locked": Case(staged_lock, W + "merge auth", "rm {}"),
    "marked": Case(marked, W + "done auth", W + "diff {} {}"),
    "dry-run-conflict": Case(
        conflict_later, W + "merge auth --dry-run", W + "sync --as {}"
    ),
    "conflict-at-approval": Case(
        conflict_before_approval, W + "approve auth", W + "sync --as {}"
    ),
    "conflict-at-done": Case(
        conflict_at_work, W + "done auth", W + "sync --as {}"
    ),
    "untrusted": Case(verify_untrusted, W + "merge auth", W + "trust", instead=True),
    "target-fails": Case(target_fails, W + "merge auth", "less {}"),
    "verify-fails": Case(
        unverified_before, W + "land auth", "less {}"
    ),
    "no-target": Case(no_target, W + "approve auth", "git config worker.target <name>"),
    "send-settings": Case(
        _working, W + "config review.self true", W + "send {} <text>", at="auth", instead=True
    ),
    "assigned-to-other": Case(_working, W + "spawn docs login", W + "show {}"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_hint_of_a_refusal_helps(quiet: World, name: str) -> None:
    """A refusal names a command that works, and that ends the refusal or shows its cause."""
    check(quiet, CASES[name])


def test_the_hint_in_a_former_worktree(quiet: World) -> None:
    """An agent whose worktree was removed reads its messages, in the directory made again."""
    in_review(quiet)
    place = quiet.path("auth")
    run_in(quiet, "git worker cancel auth")
    place.mkdir()
    printed = Printed([], str(place))
    done = perform("git worker done", printed)
    (hint,) = hints_of(done.out, done.err)
    assert Template("", W + "inbox --as {}").pattern().fullmatch(hint)
    assert follow(printed, hint) is None
    note(hint, done.err + done.out)
