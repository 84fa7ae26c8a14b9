"""The hints about projects and agents work in the state in which they are printed."""

from collections.abc import Callable

import pytest

from gitworker.store.scheduling.projects import charge_project
from gitworker.store.scheduling.usage import charge_run
from tests.hints.case import Case, check
from tests.hints.following import Printed, perform
from tests.workers.world import World

W = "git worker "


def _having(*commands: str) -> Callable[[World], None]:
    """Return the state after some commands."""

    def build(world: World) -> None:
        for command in commands:
            done = perform(W + command, Printed([], str(world.root)))
            assert done.status == 0, done

    return build


def _spent(world: World) -> None:
    """Let a project use all its tokens."""
    _having("project add web --budget 1M", "task add a --project web")(world)
    with world.session().store.write() as writer:
        charge_project(writer, "web", 10**6)


def _used(world: World) -> None:
    """Let a task use all its tokens."""
    _having("task add a --budget 1M")(world)
    with world.session().store.write() as writer:
        charge_run(writer, worker="auth", task="a", tokens=10**6)


ARCHIVED = _having("project add web", "project archive web")
ADD_AGENT = "agent add ada --type command --command true"
CASES = {
    "name": Case(_having("init"), W + "project add Web", W + "project add web"),
    "exists": Case(
        _having("project add web"), W + "project add web", W + "project show {}", instead=True
    ),
    "unknown": Case(_having("init"), W + "project show lost", W + "project list"),
    "task-unknown": Case(_having("init"), W + "task add a --project web", W + "project add {}"),
    "task-no-name": Case(_having("init"), W + "task add a --project ''", W + "project list"),
    "task-archived": Case(ARCHIVED, W + "task add a --project web", W + "project resume {}"),
    "archive-default": Case(
        _having("init"), W + "project archive default", W + "project pause {}", instead=True
    ),
    "archive-in-use": Case(
        _having("project add web", "task add a --project web"), W + "project archive web",
        W + "task list --project {}",
    ),
    "agent-exists": Case(
        _having(ADD_AGENT), W + ADD_AGENT, W + "agent show {}", instead=True
    ),
    "agent-unknown": Case(_having("init"), W + "agent show lost", W + "agent list"),
    "inbox-project": Case(
        _spent, W + "inbox --json", W + "project edit {} --budget <number>"
    ),
    "inbox-task": Case(_used, W + "inbox --json", W + "task edit {} --budget <number>"),
    "spent": Case(_spent, W + "task why a --json", W + "project edit {} --budget <number>"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_hint_about_a_project_helps(quiet: World, name: str) -> None:
    """The refusal or the reason names the command that helps."""
    check(quiet, CASES[name])
