"""How many round trips to the fleet's server commands need."""

from collections.abc import Iterator
from typing import Any

import pytest

from gitworker.store.fleet import fleet_database
from gitworker.store.fleet.link_client import LinkClient
from tests.cli.in_process import run_here
from tests.cli.kit import ok
from tests.store.machines import NearLink
from tests.workers.world import World

AT_MOST = 2
SCREENS = ("status", "list", "inbox", "task list", "log", "agents")
CHANGES = (
    "spawn auth login", "task add docs -m words", "task edit docs --priority 1", "task hold docs",
    "start auth", "send auth hello", "claim take path:src --as auth", "fail auth -m no",
    "resume auth", "cancel auth", "undo",
)  # fmt: skip
REVIEWS = ("review auth", "reject auth -m More", "done auth -m Yes", "approve auth")


class CountingLink(NearLink):
    """Counts the round trips that a command waits for: one to begin, and one to commit."""

    trips = 0

    def begin(self) -> None:
        """Take the fleet's lock and bring the replica up to date."""
        CountingLink.trips += 1
        super().begin()

    def commit(self, shared: str, own: str, *, durable: bool, waits: bool = False) -> int:
        """Write changes to the log and the replica."""
        CountingLink.trips += 1
        return super().commit(shared, own, durable=durable, waits=waits)

    def sync(self) -> dict[str, Any]:
        """Answer as a link that has read the log, as it does after each notification."""
        return {"position": 0, "machine": "one", "now_ms": 0, "polls": False}


@pytest.fixture
def counted(world: World, location: str) -> Iterator[World]:
    """A machine whose commands are counted."""
    world.session()
    ok(world.root, "fleet", "join", location, "--name", "one")
    ok(world.root, "status")
    fleet_database.LinkClient = CountingLink  # type: ignore[misc,assignment]
    yield world
    fleet_database.LinkClient = LinkClient  # type: ignore[misc]


def trips_of(world: World, command: str) -> int:
    """Run a command that must succeed; return its round trips."""
    CountingLink.trips = 0
    answer = run_here(world.root, *command.split())
    assert answer.status == 0, (command, answer)
    return CountingLink.trips


def test_commands_need_two_round_trips(counted: World) -> None:
    """Screens need none, and a command that changes something two, however many queries it has."""
    assert {one: trips_of(counted, one) for one in SCREENS} == dict.fromkeys(SCREENS, 0)
    for one in CHANGES:
        assert trips_of(counted, one) <= AT_MOST, one
    counted.commit("auth", {"a": "1\n"})
    assert trips_of(counted, "status") <= 2 * AT_MOST  # publishes the commit; takes the work up
    for one in ("show auth", "diff auth"):
        assert trips_of(counted, one) == 0, one
    # A hand-in first publishes a commit that no command has published yet.
    assert trips_of(counted, "done auth") <= 2 * AT_MOST
    for one in (*REVIEWS, "merge auth"):
        assert trips_of(counted, one) <= AT_MOST, one


def test_landings_that_need_more(counted: World) -> None:
    """News of uncommitted files, and each recorded step of a verification, need two more."""
    place = counted.approved("auth", "login", {"a": "1\n"})
    (place / "left.txt").write_text("uncommitted\n")
    assert trips_of(counted, "merge auth") == 2 * AT_MOST
    counted.git("config", "worker.verify.commands", "true")
    counted.approved("bob", "menu", {"b": "1\n"})
    # The window is opened, has a verdict, and has landed.
    assert trips_of(counted, "merge bob") == 3 * AT_MOST


def test_log_files_need_no_round_trip(counted: World) -> None:
    """The files of a machine are its own: how far they are written waits for no other machine."""
    ok(counted.root, "task", "add", "docs", "-m", "words")
    for name in ("bus.jsonl", "transitions.jsonl"):
        (counted.state_dir / name).unlink()
    assert trips_of(counted, "msg export") == 0
    assert (counted.state_dir / "transitions.jsonl").stat().st_size > 0
