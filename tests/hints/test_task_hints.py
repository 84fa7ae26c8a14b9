"""The hints about tasks, plans, runs and waits help in the state in which they are printed."""

import pytest

from tests.cli.test_hint_walk import failed, in_review, landed
from tests.hints.case import Case, by, check
from tests.hints.test_rare_hints import adopted
from tests.hints.test_usage_hints import W, _fresh, _working
from tests.workers.world import World

ADD, TASK = W + "task add ", W + "task "
ADDED = ADD + "login -m words"
WAITING = (ADDED, ADD + "guide -m words --needs login")


def no_retries(world: World) -> None:
    """Let the only attempt at a task fail, and free its worker."""
    world.git("config", "worker.task.max-retries", "0")
    freed(world)


def stopped(world: World) -> None:
    """Stop the work on a task, and free its worker."""
    _working(world)
    by(TASK + "stop login -m words", W + "reset auth")(world)


def freed(world: World) -> None:
    """Free a worker that failed."""
    failed(world)
    by(W + "reset auth")(world)


def never_had(world: World) -> None:
    """Undo the adoption that made the worker."""
    adopted(world)
    by(W + "undo")(world)


def with_plan(world: World) -> None:
    """Write a plan."""
    (world.root / "plan.md").write_text("- [ ] login: Login\n- [ ] guide: Guide (needs: login)\n")


def with_other_plan(world: World) -> None:
    """Have a task of the name of another plan's task."""
    by(ADDED)(world)
    with_plan(world)


def dead_need(world: World) -> None:
    """Cancel a task for which another waits."""
    by(*WAITING, TASK + "cancel login")(world)


def no_workstream_branch(world: World) -> None:
    """Delete the branch on which a task lands."""
    by(W + "workstream create big --branch", f"{ADDED} --workstream big")(world)
    world.git("branch", "-D", "ws/big")


CASES = {
    "claim-of-task": Case(_working, W + "claim take login", W + "show {}"),
    "held": Case(by(ADDED, TASK + "hold login"), W + "spawn auth login", TASK + "release {}"),
    "no-retries": Case(no_retries, W + "spawn auth login", TASK + "restart {}"),
    "cancelled": Case(
        by(ADDED, TASK + "cancel login"), W + "spawn auth login", TASK + "restart {}"
    ),
    "undo-cancel": Case(by(ADDED, TASK + "cancel login"), W + "undo", TASK + "restart {}"),
    "waits": Case(by(*WAITING), W + "spawn auth guide", TASK + "why {}"),
    "dry-run": Case(
        with_plan, W + "run plan.md --dry-run -- true", TASK + "import --dry-run {}", instead=True
    ),
    "run-as-worker": Case(_working, W + "run -- true", W + "done", at="auth", instead=True),
    "plan-of-other": Case(with_other_plan, TASK + "import plan.md", TASK + "show {}"),
    "add-nothing": Case(_fresh, TASK + "add", TASK + "add -m <text>"),
    "add-again": Case(by(ADDED), ADDED, TASK + "show {}"),
    "needs-cancelled": Case(
        by(ADDED, TASK + "cancel login"), ADD + "guide -m words --needs login",
        TASK + "restart {}",
    ),
    "depend-late": Case(_working, TASK + "depend login --on other", TASK + "show {}"),
    "hold-late": Case(landed, TASK + "hold login", TASK + "show {}"),
    "list-held": Case(
        by(ADDED, TASK + "hold login"), TASK + "list --json", TASK + "release {}"
    ),
    "list-restart": Case(no_retries, TASK + "list --json", TASK + "restart {}"),
    "list-cancelled": Case(
        by(ADDED, TASK + "cancel login"), TASK + "list --json", TASK + "restart {}"
    ),
    "why-ready": Case(by(ADDED), TASK + "why login --json", W + "spawn '<worker>' {}"),
    "why-needs": Case(by(*WAITING), TASK + "why guide --json", W + "spawn '<worker>' {}"),
    "why-held": Case(
        by(ADDED, TASK + "hold login"), TASK + "why login --json", TASK + "release {}"
    ),
    "why-need-held": Case(
        by(*WAITING, TASK + "hold login"), TASK + "why guide --json", TASK + "release {}"
    ),
    "why-cancelled": Case(dead_need, TASK + "why guide --json", TASK + "restart {}"),
    "why-stopped": Case(stopped, TASK + "why login --json", TASK + "restart {}"),
    "why-failed": Case(no_retries, TASK + "why login --json", TASK + "restart {}"),
    "edit-late": Case(landed, TASK + "edit login --priority 1", TASK + "restart {}"),
    "cancel-late": Case(landed, TASK + "cancel login", TASK + "restart {}"),
    "skip-in-hand": Case(_working, TASK + "skip login", TASK + "cancel {}", instead=True),
    "restart-in-hand": Case(_working, TASK + "restart login", TASK + "stop {}"),
    "no-workstream-branch": Case(no_workstream_branch, W + "spawn b login", W + "doctor"),
    "stop-queued": Case(by(ADDED), TASK + "stop login", TASK + "hold {}", instead=True),
    "skip-queued": Case(by(ADDED), TASK + "skip login", TASK + "cancel {}", instead=True),
    "stop-assigned": Case(
        by(W + "spawn auth login"), TASK + "stop login", TASK + "why {}"
    ),
    "stop-failed": Case(failed, TASK + "stop login", TASK + "why {}"),
    "send-queued": Case(
        by(ADDED), W + "send login words", TASK + "edit {} --context <text>", instead=True
    ),
    "send-cancelled": Case(
        by(ADDED, TASK + "cancel login"), W + "send login words", TASK + "show {}"
    ),
    "claim-cancelled": Case(
        by(ADDED, TASK + "cancel login"), W + "claim take login", TASK + "why {}"
    ),
    "sync-idle": Case(never_had, W + "sync --as auth", W + "assign {} <task>"),
    "no-directory": Case(_fresh, W + "-C nowhere list", W + "-C . status", instead=True),
    "blank": Case(in_review, W + "reject auth -m ' '", W + "{} -h"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_hint_about_a_task_helps(quiet: World, name: str) -> None:
    """A refusal of a command on a task names a command that works, and that ends it."""
    check(quiet, CASES[name])
