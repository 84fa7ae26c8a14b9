"""Every hint without values that only reads succeeds, in whichever state it is printed."""

import pytest

from tests.cli.test_hint_walk import failed, in_review
from tests.hints.following import Printed, follow
from tests.hints.proving import proves_itself
from tests.hints.templates import all_templates
from tests.workers.world import World


def prepared(world: World) -> None:
    """Let auth fail, docs wait for its review, and ui work on its task."""
    failed(world)
    world.in_review("docs", "guide", {"guide": "1\n"})
    world.working("ui", "form", {"form": "1\n"})


def test_commands_that_read(quiet: World) -> None:
    """Each of these commands succeeds in the main checkout and in a worktree."""
    commands = sorted({one.text for one in all_templates() if proves_itself(one)})
    assert commands
    prepared(quiet)
    for place in (quiet.root, quiet.path("ui")):
        for command in commands:
            why = follow(Printed([], str(place)), command)
            assert why is None, why


@pytest.mark.parametrize("command", ["git worker doctor", "git worker list", "git worker status"])
def test_the_first_commands_work_in_review(quiet: World, command: str) -> None:
    """The commands that most hints name succeed while work waits for a review."""
    in_review(quiet)
    assert follow(Printed([], str(quiet.root)), command) is None
