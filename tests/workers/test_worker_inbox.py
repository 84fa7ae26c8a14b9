"""A worker's inbox after verdicts, hand-ins and commands of other users on its task."""

from pathlib import Path

import pytest

from gitworker.errors import Conflict
from gitworker.observe.inbox.mail import read_mail
from gitworker.workers.cancel import cancel
from gitworker.workers.review import reject
from tests.workers.world import World


def inbox(world: World, place: Path) -> list[tuple[str, str | None]]:
    """Return the texts and commands of the unread verdicts in a worker's inbox."""
    found = read_mail(world.session(place), limit=50)
    return [(item.text, item.command) for item in found.items if item.kind == "review_result"]


def test_a_hand_in_settles_verdicts(world: World) -> None:
    """Verdicts before the last hand-in are not shown; a reviewer's words have no command."""
    place = world.in_review("auth", "login", {"README": "mine\n"})
    world.advance({"README": "theirs\n"})
    with pytest.raises(Conflict):
        world.approve("auth")
    assert inbox(world, place) == [("conflict: README", "git worker sync")]
    world.git("rebase", "-q", "-Xtheirs", "main", cwd=place)
    world.submit("auth")
    assert inbox(world, place) == []
    reject(world.session(), "auth", note="Add a test")
    words = "changes_requested: Add a test"
    assert inbox(world, place) == [(words, "git worker done   # after your next commit")]
    world.commit("auth", {"test": "1\n"})
    world.submit("auth")
    assert inbox(world, place) == [(words, None)]
    world.approve("auth")
    assert inbox(world, place) == [("approved", None)]


def test_verdicts_on_a_former_task(world: World) -> None:
    """A verdict on a task that the worker no longer has is not shown."""
    place = world.in_review("auth", "login", {"a": "1\n"})
    reject(world.session(), "auth", note="Add a test")
    assert len(inbox(world, place)) == 1
    cancel(world.session(), "auth")
    world.spawn("auth", "logout")
    assert inbox(world, world.path("auth")) == []
