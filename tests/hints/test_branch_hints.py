"""The hints about stacks, ended tasks, lost worktrees and waits help in their states."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from gitworker.errors import Conflict, Refused
from gitworker.lifecycle.fail import fail
from gitworker.service.service import open_repository
from gitworker.store.workers import set_worktree
from gitworker.worktrees.commit_work import commit_work
from tests.cli.test_hint_walk import approved
from tests.hints.case import Case, by, check, check_error
from tests.hints.following import Printed, follow, hints_of, note, perform
from tests.hints.templates import Template
from tests.hints.test_repository_hints import cancelled, deleted_unpublished
from tests.hints.test_usage_hints import W, _uncommitted, _working
from tests.hints.test_worker_hints import late_after_landing, stacked, taken_task
from tests.workers.world import World


def without_worktree(world: World) -> None:
    """Have a worker at work whose row names no worktree, as after a failed repair."""
    _working(world)
    with world.session().store.write() as writer:
        set_worktree(writer, world.worker("auth").worker_id, None, admin_dir=None)


def parent_gone(world: World) -> None:
    """Delete the branch of the parent of a stack."""
    stacked(world)
    world.git("checkout", "-q", "--detach", cwd=world.path("auth"))
    world.git("branch", "-q", "-D", "auth/login")


def circle(world: World) -> None:
    """Give a task back on which others are stacked."""
    _working(world)
    world.spawn("ui", "form", start="auth")
    world.spawn("docs", "words", start="ui")
    fail(world.session(), "auth", reason="stuck")
    by(W + "reset auth")(world)


def later_and_busy(world: World) -> None:
    """Give a worker another task after commits in its kept worktree."""
    late_after_landing(world)
    by(W + "assign auth next")(world)


def asking(world: World) -> None:
    """Let an agent ask its question."""
    _working(world)
    with suppress(Conflict):
        open_repository(str(world.root), identity="auth").ask("Which?", wait_s=0)


def refusing_hook(world: World) -> None:
    """Have a hook that refuses each commit."""
    _uncommitted(world)
    hook = world.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho no >&2; exit 1\n")
    hook.chmod(0o755)


CASES = {
    "exec-nowhere": Case(without_worktree, W + "exec auth -- true", W + "show {}"),
    "parent-gone": Case(parent_gone, W + "approve docs", W + "show {}"),
    "start-gone": Case(deleted_unpublished, W + "spawn docs x --from auth", W + "show {}"),
    "circle": Case(
        circle, W + "spawn auth login --from docs", W + "spawn {} {} --from {}{}", instead=True
    ),
    "two-names": Case(
        _working, W + "done", "export GITWORKER_ID={}", at="auth", env={"GITWORKER_ID": "docs"}
    ),
    "heartbeat-late": Case(cancelled, W + "heartbeat auth", W + "show {}"),
    "inbox-late": Case(cancelled, W + "--as auth done", W + "inbox --as {}"),
    "later-spawn": Case(later_and_busy, W + "inbox --json", W + "spawn {} {} --from {}"),
    "undo-later": Case(late_after_landing, W + "undo", "git log {}"),
    "wait-taken": Case(taken_task, W + "wait auth --for landed", W + "reset {}"),
    "wait-answer": Case(
        asking, W + "wait auth --for landed --timeout 0.1", W + "reply {} <text>", instead=True
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_hint_about_a_branch_helps(quiet: World, name: str) -> None:
    """A refusal that concerns a stack or an ended task names a command that works."""
    check(quiet, CASES[name])


@pytest.mark.parametrize(
    ("build", "hint"),
    [
        (without_worktree, W + "show {}"), (_working, "git -C {} status"),
        (refusing_hook, "git -C {} status"),
    ],
)  # fmt: skip
def test_the_hint_of_a_commit_tool_helps(
    quiet: World, build: Callable[[World], None], hint: str
) -> None:
    """A commit for an agent in a sandbox is refused with a command that shows the cause."""
    build(quiet)
    with pytest.raises(Refused) as caught:
        commit_work(quiet.session(), quiet.worker("auth"), "words")
    check_error(quiet, caught.value, hint)


def test_the_hint_in_an_old_worktree(quiet: World) -> None:
    """In a kept worktree of an ended task, the hint brings later commits to the present branch."""
    approved(quiet)
    quiet.land("auth", keep=True)
    place = quiet.path("auth")
    quiet.commit("auth", {"after": "1\n"})
    by(W + "assign auth next --from auth/login")(quiet)
    (place / "again").write_text("1\n")
    quiet.git("add", "again", cwd=place)
    quiet.git("commit", "-q", "-m", "Again", cwd=place)
    printed = Printed([], str(place))
    done = perform(W + "done", printed)
    (hint,) = hints_of(done.out, done.err)
    assert Template("", "git -C {} merge --ff-only {}").pattern().fullmatch(hint), done
    assert follow(printed, hint) is None
    assert quiet.tip("auth/next") == quiet.tip("auth/login")
    note(hint, done.err)
