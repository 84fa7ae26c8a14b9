"""The hints about damaged rows, files and branches, and about work that came back, help."""

import shutil
from pathlib import Path

import pytest

from tests.cli.test_hint_walk import approved, conflicting, failed, in_review, rejected
from tests.hints.case import Case, by, check
from tests.hints.test_usage_hints import W, _working
from tests.store.support import foreign
from tests.workers.planting import (
    damage_head,
    damage_index,
    edit_task,
    empty_branch,
    forget_place,
    lose_object,
)
from tests.workers.world import World

REPAIR, CANCEL = W + "fsck --repair", W + "cancel {}"


def forgotten(world: World) -> None:
    """Delete the recorded path of the worktree."""
    _working(world)
    forget_place(world)


def target_failed(world: World) -> None:
    """Let a merge find that the target itself does not pass the verify commands."""
    approved(world)
    world.git("config", "worker.verify.commands", "false")
    world.drive("merge", "auth")


def other_task_state(world: World) -> None:
    """Change the status of the task behind the guard's back."""
    _working(world)
    edit_task(world)


def index_is_damaged(world: World) -> None:
    """Cut the index of the worktree."""
    _working(world)
    damage_index(world)


def index_is_damaged_and_locked(world: World) -> None:
    """Cut the index of the worktree, and leave git's lock of it."""
    index_is_damaged(world)
    Path(world.worker("auth").admin_dir or "", "index.lock").touch()


def head_is_damaged(world: World) -> None:
    """Write garbage into the HEAD of the worktree."""
    _working(world)
    damage_head(world)


def branch_is_empty(world: World) -> None:
    """Empty the file of a branch in review."""
    in_review(world)
    empty_branch(world)


def object_is_empty(world: World) -> None:
    """Empty an object of a branch in review."""
    in_review(world)
    lose_object(world, empty=True)


def later_commit(world: World) -> None:
    """Commit after the approval."""
    approved(world)
    world.commit("auth", {"b": "1\n"})


def without_approval(world: World) -> None:
    """Delete the record of the approval, as a program with its own SQLite can."""
    approved(world)
    foreign(world.state_dir / "bus.db", "DELETE FROM reviews WHERE verdict = 'approved'")


def without_reviews(world: World) -> None:
    """Delete the records of the submission and of the approval."""
    approved(world)
    foreign(world.state_dir / "bus.db", "DELETE FROM reviews")


def without_branch(world: World) -> None:
    """Delete the branch of work in review."""
    in_review(world)
    world.git("update-ref", "-d", "refs/heads/auth/login")


def without_settings(world: World) -> None:
    """Lose the committed settings' object; their file is in the checkout."""
    world.advance({".gitworker.toml": "[review]\nself = false\n"})
    oid = world.git("rev-parse", "main:.gitworker.toml")
    (world.root / ".git" / "objects" / oid[:2] / oid[2:]).unlink()


def file_for_spool(world: World) -> None:
    """Have a file in the place of the spool's directory."""
    _working(world)
    shutil.rmtree(world.state_dir / "spool")
    (world.state_dir / "spool").write_text("mine\n")


def without_hooks(world: World) -> None:
    """Attach an agent, and let another program rewrite its settings."""
    _working(world)
    by(W + "agent install claude")(world)
    for path in world.root.glob(".claude/*.json"):
        path.write_text("{}\n")


def stopped(world: World) -> None:
    """Stop the work on a task."""
    _working(world)
    by(W + "task stop login -m words")(world)


def ended(world: World) -> None:
    """Let the agent end without handing anything in."""
    by(W + "spawn auth login", W + "exec auth -- true")(world)


def on_failed_work(world: World) -> None:
    """Stack work in review on a worker that failed."""
    failed(world)
    by(W + "spawn docs guide --from auth")(world)
    world.commit("docs", {"guide": "1\n"})
    by(W + "done docs")(world)


def stacked_on_each_other(world: World) -> None:
    """Record each of two approved workers as stacked on the other, as a foreign program can."""
    approved(world)
    world.approved("docs", "guide", {"guide": "1\n"})
    both = (("auth", "login", "docs", "guide"), ("docs", "guide", "auth", "login"))
    for worker, task, parent, parent_task in both:
        foreign(
            world.state_dir / "bus.db",
            "INSERT INTO stacks (worker_id, task_id, parent_worker, parent_task, parent_branch,"
            f" parent_oid, ts_ms) VALUES ('{worker}', '{task}', '{parent}', '{parent_task}',"
            f" '{parent}/{parent_task}', '{world.tip()}', 1)",
        )


def landing_is_not_recorded(world: World) -> None:
    """Let the database refuse the record of a landing."""
    approved(world)
    foreign(
        world.state_dir / "bus.db",
        "CREATE TRIGGER refuse BEFORE INSERT ON landings BEGIN SELECT RAISE(ABORT, 'no'); END",
    )


def landing_can_be_recorded(world: World) -> None:
    """Let the database accept the record again."""
    foreign(world.state_dir / "bus.db", "DROP TRIGGER refuse")


CASES = {
    "no-place-doctor": Case(forgotten, W + "doctor", CANCEL),
    "states": Case(other_task_state, W + "fsck", CANCEL + " && git worker undo"),
    "task-moved": Case(other_task_state, W + "done auth", W + "show {}"),
    "index-doctor": Case(index_is_damaged, W + "doctor", REPAIR),
    "index-locked": Case(index_is_damaged_and_locked, REPAIR, "rm {}.lock"),
    "head": Case(head_is_damaged, W + "done auth", REPAIR),
    "empty-branch": Case(branch_is_empty, W + "approve auth", REPAIR),
    "object": Case(object_is_empty, W + "approve auth", REPAIR),
    "dry-run-withdrawn": Case(later_commit, W + "merge --dry-run auth", W + "diff {}"),
    "withdrawn": Case(later_commit, W + "merge auth", W + "approve {}{}"),
    "no-approval": Case(without_approval, W + "merge auth", W + "approve {}"),
    "no-reviews": Case(without_reviews, W + "land auth", W + "approve {}"),
    "no-branch": Case(without_branch, W + "approve auth", REPAIR),
    "no-settings": Case(without_settings, W + "list", REPAIR),
    "no-spool": Case(file_for_spool, W + "list", REPAIR),
    "no-hooks": Case(without_hooks, W + "doctor", W + "agent install {}"),
    "wait-ended": Case(ended, W + "wait auth --for verdict", W + "resume {}", instead=True),
    "undo-stop": Case(stopped, W + "undo", W + "resume {}", instead=True),
    "order-ended": Case(ended, W + "stop auth", W + "resume {}", instead=True),
    "verdict": Case(rejected, W + "inbox --json", W + "done", at="auth"),
    "verdict-conflict": Case(conflicting, W + "inbox --json", W + "sync", at="auth"),
    "cycle": Case(stacked_on_each_other, W + "merge --all", W + "show {}"),
    "not-recorded": Case(
        landing_is_not_recorded, W + "merge auth", W + "recover", meets=landing_can_be_recorded
    ),
    "target": Case(target_failed, W + "status", "less {}"),
    "parent-failed": Case(on_failed_work, W + "approve docs", W + "show {}"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_hint_about_the_state_helps(quiet: World, name: str) -> None:
    """A damaged or returned state is named with a command that helps in it."""
    check(quiet, CASES[name])
