"""A command that the fleet has recorded, though its answer was lost."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from gitworker.errors import BUSY, UNREACHABLE, Conflict, Unavailable
from gitworker.fleet.follow import follow
from gitworker.link.connection import FleetConnection
from gitworker.store.fleet import fleet_database
from gitworker.store.fleet.link_client import UNKNOWN, LinkClient
from gitworker.store.workers import add_worker
from tests.cli.in_process import run_here
from tests.cli.kit import ok
from tests.fleet.conftest import Door
from tests.store.machines import Machine, NearLink
from tests.workers.world import World

COMMANDS = (("spawn", "auth", "login"), ("adopt", "auth/login", "auth", "login"))


class Unanswered(NearLink):
    """A link that loses the connection after the server has recorded the change."""

    def commit(self, shared: str, own: str, *, durable: bool, waits: bool = False) -> int:
        """Write the change to the fleet alone."""

        def lose(*_: object, **__: object) -> None:
            raise Unavailable("the connection was lost", code=UNKNOWN)

        assert self._connection is not None
        self._connection.replica.apply = lose  # type: ignore[method-assign]
        return super().commit(shared, own, durable=durable, waits=waits)


class Offline(NearLink):
    """A link that cannot reach the server."""

    def begin(self) -> None:
        """Refuse."""
        raise Unavailable("the fleet cannot be reached", code=UNREACHABLE)

    def sync(self) -> dict[str, Any]:
        """Refuse."""
        raise Unavailable("the fleet cannot be reached", code=UNREACHABLE)


class Occupied(NearLink):
    """A link that finds the fleet's lock taken at first, by a machine that was cut off."""

    refusals = 0

    def begin(self) -> None:
        """Refuse once."""
        Occupied.refusals += 1
        if Occupied.refusals == 1:
            raise Conflict("the database is busy", code=BUSY)
        super().begin()


@pytest.fixture
def joined(world: World, door: Door) -> Iterator[World]:
    """A machine of a fleet, whose link is exchanged."""
    world.session()
    ok(world.root, "fleet", "join", door.location, "--name", "one")
    yield world
    fleet_database.LinkClient = LinkClient  # type: ignore[misc]


@pytest.mark.parametrize("words", COMMANDS)
def test_the_worktree_of_a_recorded_spawn_stays(joined: World, words: tuple[str, ...]) -> None:
    """Neither the command nor a later one without the fleet rolls back what the fleet has."""
    if words[0] == "adopt":
        joined.git("branch", "auth/login")
    fleet_database.LinkClient = Unanswered  # type: ignore[misc,assignment]
    assert run_here(joined.root, *words).status != 0
    fleet_database.LinkClient = Offline  # type: ignore[misc,assignment]
    run_here(joined.root, "recover")
    fleet_database.LinkClient = NearLink  # type: ignore[misc,assignment]
    ok_here(joined, "recover")
    assert joined.query("SELECT worker_id, state FROM workers") == [("auth", "ASSIGNED")]
    assert joined.path("auth").is_dir()
    assert joined.query("SELECT status FROM operations") == [("done",)]
    follow(joined.session())  # a job of the link
    ok_here(joined, "fsck")


def test_a_run_waits_for_the_lock(joined: World) -> None:
    """What waits for the fleet also waits for a machine that was cut off with the lock."""
    with Machine(joined.state_dir).fleet() as store:
        store.link = Occupied(str(joined.state_dir))  # type: ignore[assignment]
        with pytest.raises(Conflict, match="busy"), store.write():
            pass
        Occupied.refusals = 0
        store.wait_for_the_fleet()
        with store.write() as writer:
            add_worker(writer, "docs", 1)
    assert joined.query("SELECT worker_id FROM workers") == [("docs",)]


class Unknowing(FleetConnection):
    """A connection that finds the lock taken when it asks for an entry."""

    def find(self, mark: str) -> int | None:
        """Refuse."""
        raise Conflict(f"the database is busy: {mark}", code=BUSY)


def test_a_lock_that_is_taken_tells_nothing(joined: World, door: Door) -> None:
    """With a lost connection and a lock that is taken, nobody knows whether a change is there."""
    with closing(Unknowing(joined.session().paths)) as connection:
        connection.begin()
        door.end_connections()
        with pytest.raises(Unavailable) as caught:
            connection.commit("[]", "[]", durable=True)
    assert caught.value.code == UNKNOWN


def ok_here(world: World, *words: str) -> str:
    """Run a command in this process; it must succeed."""
    answer = run_here(world.root, *words)
    assert answer.status == 0, answer
    return answer.out
