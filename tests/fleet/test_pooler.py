"""A fleet behind a pooler that gives each transaction another connection to the server."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

from fixtures.postgres import find_pooler, run_pooler
from gitworker.store.messages.mailbox import NewMessage, publish_message
from gitworker.store.postgres.server import FleetServer
from tests.cli.kit import ok, run
from tests.store.machines import Machine, fresh_location
from tests.workers.world import World, wait_until

POLLS = "asks once a second"
SETTINGS = (
    "SELECT current_setting('search_path'), current_setting('lock_timeout'),"
    " current_setting('idle_in_transaction_session_timeout')"
)
CONNECTIONS = 3  # of the pooler to the server


@pytest.fixture
def pooled(server: str) -> Iterator[str]:
    """The location of a schema that does not exist yet, behind a pooler."""
    program = find_pooler()
    if program is None:
        pytest.skip("needs pgbouncer")
    with run_pooler(program, server) as location:
        yield fresh_location(location)


@pytest.fixture
def other(pooled: str, tmp_path: Path) -> Iterator[Machine]:
    """A machine whose link runs."""
    made = Machine(tmp_path / "other")
    made.join(pooled, "other")
    made.start_link()
    yield made
    made.kill_link()


@pytest.fixture
def joined(world: World, pooled: str, other: Machine) -> Iterator[World]:
    """The repository as another machine."""
    world.session()
    ok(world.root, "fleet", "join", pooled, "--name", "one")
    yield world
    Machine(world.state_dir).kill_link()


def test_changes_arrive_without_notifications(joined: World, other: Machine) -> None:
    """A machine has the changes of others within seconds, though no command of it asks."""
    for number in range(3):
        ok(joined.root, "task", "add", f"t{number}", "-m", "words")
        wait_until(lambda: len(other.query("SELECT id FROM tasks")) == number + 1)  # noqa: B023
    with other.open() as store:
        publish_message(store, NewMessage("a", "x-note", ts_ms=1, sender="hq"))
    wait_until(lambda: ("a",) in joined.query("SELECT id FROM messages"))


def test_a_command_sees_what_was_written_before(joined: World, other: Machine) -> None:
    """A screen asks the server, since no notification tells it that it knows everything."""
    for number in range(5):
        with other.open() as store:
            publish_message(store, NewMessage(f"m{number}", "x-note", ts_ms=1, sender="hq"))
        ok(joined.root, "status")
        assert (f"m{number}",) in joined.query("SELECT id FROM messages")


def test_screens_say_that_the_machine_polls(joined: World, location: str) -> None:
    """`fleet status` and `doctor` have one line about it, only behind a pooler."""
    assert POLLS in ok(joined.root, "fleet", "status")
    assert run(joined.root, "fleet", "status", "--json").document["polls"] is True
    (line,) = [one for one in run(joined.root, "doctor").out.splitlines() if POLLS in one]
    assert "fleet" in line
    ok(joined.root, "fleet", "leave")
    ok(joined.root, "fleet", "join", location, "--name", "one")
    assert POLLS not in ok(joined.root, "fleet", "status")
    assert POLLS not in run(joined.root, "doctor").out


def test_the_connections_of_others_are_not_changed(
    joined: World, other: Machine, pooled: str
) -> None:
    """The pooler's connections, which other programs get next, have no setting of ours."""
    joined.spawn("auth", "login")
    ok(joined.root, "cancel", "auth")
    ok(joined.root, "fleet", "leave")
    conninfo = pooled.partition("#")[0]
    with ExitStack() as stack:
        found = set()
        for _ in range(CONNECTIONS):  # each of these transactions has a connection for itself
            connection = stack.enter_context(psycopg.connect(conninfo, prepare_threshold=None))
            pid = connection.execute("SELECT pg_backend_pid()").fetchone()
            settings = connection.execute(SETTINGS).fetchone()
            heard = connection.execute("SELECT * FROM pg_listening_channels()").fetchall()
            found.add((pid, settings, tuple(heard)))
    assert len(found) == CONNECTIONS
    assert {(settings, heard) for _, settings, heard in found} == {
        (('"$user", public', "0", "0"), ())
    }


def test_an_error_ends_the_transaction(pooled: str) -> None:
    """After an error outside of a transaction the connection is as before."""
    with closing(FleetServer(pooled)) as server:
        with pytest.raises(Exception, match="fleet_log"):
            server.fetch(0)
        assert server.run("SELECT 1") == [(1,)]
