"""The hand-in and the views report facts that author and reviewer would miss otherwise."""

import pytest

from fixtures.repos import Repo
from gitworker.bus.drain import drain
from gitworker.claims.holder import claims_of
from gitworker.errors import Conflict
from gitworker.observe.inbox.needs import read_needs
from gitworker.observe.workers.status import read_status
from gitworker.progress import Event, Notice
from gitworker.workers.submit import UNCHANGED, Submission, submit
from gitworker.workers.sync import sync
from tests.workers.world import World


def notices(events: list[Event]) -> str:
    """Return the notices of a command."""
    return "\n".join(event.text for event in events if isinstance(event, Notice))


def test_unchanged_work_after_a_failed_verification(world: World) -> None:
    """Author and reviewer see that the commit is the one that did not pass."""
    world.git("config", "worker.verify.commands", "test ! -e a")
    world.approved("auth", "login", {"a": "1\n"})
    world.merge("auth")
    assert world.states("auth", "login")[0] == "WORKING"
    events: list[Event] = []
    submit(world.session(report=events.append), "auth", Submission())
    assert UNCHANGED in notices(events)
    (item,) = read_needs(world.session(), limit=9).items
    assert item.text == UNCHANGED


def test_files_that_another_holder_has_claimed(world: World) -> None:
    """A hand-in names the claim of another holder on a file that it changes."""
    world.working("auth", "login", {"src/a": "1\n", "[odd": "1\n"})
    world.advance({"lib/b": "1\n"})
    claims = claims_of(world.session())
    for name in ("path:src/**", "path:lib/**"):
        claims.take(name)
    events: list[Event] = []
    submit(world.session(report=events.append), "auth", Submission())
    assert notices(events) == "auth/login changes src/a, and hq has claimed path:src/**"


def test_an_open_rebase_is_the_news(world: World) -> None:
    """The screen shows that a rebase is open in a worktree."""
    place = world.working("auth", "login", {"README": "mine\n"})
    world.advance({"README": "yours\n"})
    with pytest.raises(Conflict):
        sync(world.session(place), "start")
    session = world.session()
    (line,) = read_status(session, drain(session)).workers
    assert line.news == "a rebase is stopped in its worktree"
    Repo(place).git("rebase", "--abort")


def test_work_that_a_landing_left_out(world: World) -> None:
    """The worker gets a message with the ref that keeps its uncommitted files."""
    place = world.approved("auth", "login", {"a": "1\n"})
    (place / "later").write_text("2\n")
    world.land("auth")
    (left,) = world.messages("x-left-out")
    (ref,) = (word for word in left["text"].split() if word.startswith("refs/"))
    assert world.show("later", world.refs()[ref]) == "2"
