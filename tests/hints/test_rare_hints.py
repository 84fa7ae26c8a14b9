"""Hints of rare refusals: agents at work, hostile commits, obstacles in worktrees, odd branches."""

import os
import shutil
import signal
import time

import pytest

from fixtures.repos import Repo
from gitworker.paths import read_only_error
from tests.agents.supervised import is_alive
from tests.agents.test_launch import change
from tests.cli.test_hint_walk import failed, in_review, landed
from tests.hints.case import Case, check
from tests.hints.following import Printed, note, perform
from tests.hints.test_repository_hints import cancelled
from tests.hints.test_usage_hints import W, _fresh, _uncommitted, _working, perform_in, with_agent
from tests.hints.test_worker_hints import run_in, verify_untrusted
from tests.workers.planting import unowned_worktree
from tests.workers.test_adopt import by_hand
from tests.workers.test_hostile_trees import plant
from tests.workers.world import World, wait_until


def hostile(world: World) -> None:
    """Put a commit on the branch that git cannot check out."""
    _working(world)
    plant(world, ".git")


def hostile_branch(world: World) -> None:
    """Have a branch with a commit that git cannot check out."""
    world.git("branch", "side")
    plant(world, ".git", branch="side")


def two_things(world: World) -> None:
    """Give a branch the name of the directory of a worktree."""
    by_hand(world)
    (world.root / "feature").symlink_to("../by-hand")
    world.git("branch", "-m", "feature", "other")
    world.git("branch", "feature")


def bad_name(world: World) -> None:
    """Have a branch that is called HEAD."""
    world.git("update-ref", "refs/heads/HEAD", "main")


def adopted(world: World) -> None:
    """Adopt a worktree that was made by hand."""
    by_hand(world)
    perform_in(world, "git worker adopt feature auth login --rename")


def adopted_and_moved(world: World) -> None:
    """Commit on an adopted branch."""
    adopted(world)
    world.commit("auth", {"more": "1\n"})


def adopted_name_taken(world: World) -> None:
    """Make another branch of the name that an adopted one had."""
    adopted(world)
    world.git("branch", "feature")


def adopted_copy(world: World) -> None:
    """Adopt a branch without a worktree, and write a file there."""
    world.git("branch", "feature")
    world.git("commit", "-q", "--allow-empty", "-m", "More")
    perform_in(world, "git worker adopt feature auth login --rename")
    (world.path("auth") / "mine").write_text("1\n")


def undone_out_of_turn(world: World) -> None:
    """Approve and land."""
    landed(world)


def landed_and_busy(world: World) -> None:
    """Give a worker another task after its landing."""
    landed(world)
    perform_in(world, "git worker assign auth next")


def behind(world: World) -> None:
    """Advance the target below work in review, so that an approval rebases it."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"README": "changed\n"})


def behind_with_changes(world: World) -> None:
    """Change the file without a commit that an approval would change."""
    behind(world)
    Repo(world.path("auth")).write({"README": "mine\n"})


def behind_with_a_file(world: World) -> None:
    """Have an untracked file of the name that an approval brings."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({"fresh": "1\n"})
    (world.path("auth") / "fresh").write_text("mine\n")


def behind_with_a_lock(world: World) -> None:
    """Leave git's lock of the worktree's index."""
    behind(world)
    admin = world.git("rev-parse", "--absolute-git-dir", cwd=world.path("auth"))
    open(f"{admin}/index.lock", "x").close()


def behind_and_detached(world: World) -> None:
    """Detach HEAD in the worktree of work in review."""
    behind(world)
    world.git("checkout", "-q", "--detach", cwd=world.path("auth"))


def behind_at_work(world: World) -> None:
    """Advance the target below work with an uncommitted change."""
    _uncommitted(world)
    world.advance({"README": "changed\n"})


def fifo_in_the_way(world: World) -> None:
    """Have a FIFO where a file of ours belongs."""
    (world.root / "worktrees").mkdir()
    os.mkfifo(world.root / "worktrees" / ".gitignore")


def broken_log(world: World) -> None:
    """Change a line of the log of transitions."""
    _working(world)
    run_in(world, "git worker msg export")
    log = world.state_dir / "transitions.jsonl"
    log.write_text(log.read_text().replace("ASSIGNED", "IDLE"))


def no_target(world: World) -> None:
    """Record a target that does not exist."""
    _working(world)
    world.git("config", "worker.target", "release")


def ready(world: World) -> None:
    """Free a failed worker, so that its task can be given again."""
    failed(world)
    perform_in(world, "git worker reset auth")


def rescued(world: World) -> None:
    """Cancel a worker with commits, so that a rescue ref keeps them."""
    _working(world)
    perform_in(world, "git worker cancel auth")


def gone_cwd(world: World) -> None:
    """Let a worktree that no worker has disappear."""
    in_review(world)
    unowned_worktree(world)
    shutil.rmtree(world.root / "worktrees/knows")


def target_moved(world: World) -> None:
    """Move the target to the commits of auth, past the review."""
    _working(world)
    perform_in(world, "git worker status")
    world.git("update-ref", "refs/heads/main", "auth/login")


def failing_setup(world: World) -> None:
    """Configure a setup command that fails."""
    world.git("config", "worker.worktree.setup", "false")


def no_setup(world: World) -> None:
    """Remove the setup command."""
    world.git("config", "--unset", "worker.worktree.setup")


def spawned_without_text(world: World) -> None:
    """Spawn a worker for a task without title and text."""
    perform_in(world, "git worker spawn auth login")


def nested(world: World) -> None:
    """Have a repository inside a worktree."""
    _working(world)
    Repo.make(world.path("auth") / "vendored")


def empty_file(world: World) -> None:
    """Have a file without text."""
    (world.root / "empty").touch()


def two_buses(world: World) -> None:
    """Have a directory with a bus beside the state directory."""
    _working(world)
    (world.root / ".worker-state").unlink()
    shutil.copytree(world.state_dir, world.root / ".worker-state")


def rebooted(world: World) -> None:
    """End an agent and its supervisor as a reboot does, 85 seconds after the last heartbeat."""
    with_agent(world)
    perform_in(world, "git worker status")  # a commit that is published later counts as a heartbeat
    ((agent, supervisor),) = world.query("SELECT pid, supervisor_pid FROM runs")
    for pid in (supervisor, agent):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not (is_alive(agent) or is_alive(supervisor)))
    change(world, "UPDATE runs SET boot_id = 'earlier'")
    change(world, "UPDATE workers SET boot_id = 'earlier'")
    change(world, f"UPDATE heartbeats SET ts_ms = {int(time.time() * 1000) - 85_000}")


AGENT_CASES = {
    "rebooted": Case(
        rebooted, W + "resume auth -d -- sleep 60", "sleep {} && git worker resume {}"
    ),
    "rebooted-cancel": Case(rebooted, W + "cancel auth", "sleep {} && git worker show {}"),
    "busy": Case(with_agent, W + "exec auth -- true", W + "stop {}", instead=True),
    "occupied": Case(with_agent, W + "cancel auth", W + "stop {}", instead=True),
    "pause": Case(with_agent, W + "pause auth", W + "{} {}"),
}  # fmt: skip
CASES = {
    "hostile": Case(hostile, W + "done auth", "git -C {} reset --soft {}^"),
    "hostile-branch": Case(hostile_branch, W + "adopt side auth login", "git show --stat {}"),
    "hostile-start": Case(
        hostile_branch, W + "spawn auth login --from side",
        W + "spawn --from {}^ <worker> <task>", instead=True,
    ),
    "two-things": Case(
        two_things, W + "adopt feature auth login --rename", W + "adopt {} <worker> <task>",
        instead=True,
    ),
    "bad-name": Case(
        bad_name, W + "adopt refs/heads/HEAD auth login --rename", "git branch -m -- {} <new-name>",
        instead=True,
    ),
    "undo-adopted": Case(adopted_and_moved, W + "undo", "git log {}"),
    "undo-name": Case(adopted_name_taken, W + "undo", "git branch -m {} <new-name>"),
    "undo-copy": Case(adopted_copy, W + "undo", W + "cancel {}", instead=True),
    "undo-order": Case(undone_out_of_turn, W + "undo 2", W + "undo {}"),
    "undo-busy": Case(landed_and_busy, W + "undo", W + "show {}"),
    "undo-of-approve": Case(behind, W + "approve auth", W + "undo"),
    "undo-of-cancel": Case(_working, W + "cancel auth", W + "undo"),
    "undo-of-gc": Case(rescued, W + "gc --older-than 0 --unlanded", W + "undo {}"),
    "changes": Case(behind_with_changes, W + "approve auth", "git -C {} commit --all"),
    "file": Case(behind_with_a_file, W + "approve auth", "git -C {} status --ignored"),
    "lock": Case(behind_with_a_lock, W + "approve auth", "ls -l {}"),
    "detached": Case(behind_and_detached, W + "approve auth", "git -C {} switch {}"),
    "sync-uncommitted": Case(
        behind_at_work, W + "sync --as auth",
        "cd {} && git commit -am 'What I did' && git worker sync",
    ),
    "fifo-in-the-way": Case(fifo_in_the_way, W + "spawn auth login", "mv {} {}/found"),
    "broken-log": Case(broken_log, W + "doctor", W + "validate {}"),
    "doctor-target": Case(no_target, W + "doctor", "git config worker.target <name>"),
    "task-ready": Case(ready, W + "task list --json", W + "spawn '<worker>' {}"),
    "lost-worktree": Case(gone_cwd, W + "doctor", "git worktree remove {}"),
    "two-buses": Case(two_buses, W + "status", "mv {} {}"),
    "path": Case(cancelled, W + "path auth", W + "show {}"),
    "diff": Case(cancelled, W + "diff auth", W + "show {}"),
    "switch-back": Case(_fresh, W + "switch -", "cd -"),
    "prompt": Case(
        _fresh, W + "spawn auth login -- echo {prompt}",
        W + "spawn <worker> -m <text> -- <command>",
    ),
    "environment": Case(
        _working, W + "doctor", "unset GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS",
        env={
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "worker.worktree.pool",
            "GIT_CONFIG_VALUE_0": "many",
        },
    ),
    "moved-target": Case(target_moved, W + "inbox --json", "git log --stat {}..{}"),
    "nested": Case(nested, W + "-C vendored show", "cd {}", at="auth", instead=True),
    "empty-file": Case(empty_file, W + "send hq -F empty", "cat {}", instead=True),
    "no-text": Case(
        spawned_without_text, W + "exec auth -- echo {prompt}", W + "task edit {} -m <text>"
    ),
    "setup-fails": Case(
        failing_setup, W + "spawn auth login", W + "resume {}", meets=no_setup, instead=True
    ),
    "trust": Case(verify_untrusted, W + "trust", W + "trust --yes"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_rare_hint_helps(quiet: World, name: str) -> None:
    """A rare refusal names a command that works, and that ends it or shows its cause."""
    check(quiet, CASES[name])


@pytest.mark.parametrize("name", AGENT_CASES)
def test_the_hint_beside_an_agent_helps(quiet: World, name: str) -> None:
    """A refusal because of an agent at work names a command that works."""
    try:
        check(quiet, AGENT_CASES[name])
    finally:
        perform("git worker stop auth", Printed([], str(quiet.root)))


def test_a_sandbox_that_cannot_write(quiet: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a read-only git directory names the help of the tools that run outside."""
    monkeypatch.chdir(quiet.root)
    error = read_only_error(f"{quiet.root}/.git/worker-state/bus.db")
    hint = str(error.hint).partition("   # ")[0]
    assert perform(hint, Printed([], str(quiet.root))).status == 0
    note(hint, error.message)
