"""A reviewer who has one round on the screen decides about that one, also if a later one came."""

from pathlib import Path

import pytest

from gitworker.errors import Conflict
from gitworker.review.rules_patch import mode_text
from gitworker.service import Service, open_repository
from tests.hints.following import note
from tests.workers.world import World

OLD = "".join(f"line {number}\n" for number in range(20))
NEW = "new\n" * 5 + OLD


@pytest.fixture
def seen(world: World) -> str:
    """The tip of a first round, which a reviewer has read; a second one is the newest."""
    world.in_review("auth", "login", {"a.txt": OLD})
    tip = reviewer(world).review("auth").round.tip
    world.commit("auth", {"a.txt": NEW})
    world.submit("auth")
    return tip


def reviewer(world: World) -> Service:
    """Return the service as a person uses it."""
    return open_repository(str(world.root))


def test_a_mark(world: World, seen: str) -> None:
    """A mark on a round that is no longer the newest marks nothing."""
    with pytest.raises(Conflict, match="round 2 of auth was handed in meanwhile") as refused:
        reviewer(world).mark_viewed("auth", "a.txt", at=seen)
    assert reviewer(world).review("auth").viewed == frozenset()
    note(refused.value.hint or "", f"hint: {refused.value.hint}")


def test_a_comment(world: World, seen: str) -> None:
    """A comment is on the lines that were on the screen, and follows them."""
    made = reviewer(world).comment("auth", "a.txt:10", text="Why?", at=seen)
    assert made.place is not None
    assert (made.round, made.place.quoted) == (1, ("line 9",))
    (shown,) = reviewer(world).review("auth").comments
    assert shown.lines is not None
    assert (shown.lines.first, shown.is_outdated) == (15, False)


def test_a_request_for_changes(world: World, seen: str) -> None:
    """A request for changes sends no round back that the reviewer has not seen."""
    with pytest.raises(Conflict, match="round 2 of auth"):
        reviewer(world).send_review("auth", verdict="changes_requested", note="No", at=seen)
    assert world.worker("auth").state == "IN_REVIEW"
    newest = reviewer(world).review("auth").round.tip
    reviewer(world).send_review("auth", verdict="changes_requested", note="No", at=newest)
    assert world.worker("auth").state == "WORKING"


def test_the_mode_of_a_new_file(world: World) -> None:
    """A new file that becomes executable has a part that is not viewed, and says so."""
    place = world.in_review("auth", "login", {"run": "#!/bin/sh\n"})
    assert reviewer(world).mark_viewed("auth").total == 1
    Path(place, "run").chmod(0o755)
    world.git("commit", "-q", "-a", "-m", "Executable", cwd=place)
    world.submit("auth")
    page = reviewer(world).review("auth")
    (file,) = page.files
    assert mode_text(file.patch.change) == "mode 100755 (executable)"
    assert not page.viewed.issuperset(file.patch.ids)
