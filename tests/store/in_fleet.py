"""Run suites of use cases in a fleet, as `make postgres` does.

Each bus.db that a test creates becomes the replica of a machine in a schema of its own on one
server. This process and its forks speak with the server themselves; every other program of ours
starts the link.
"""

from contextlib import ExitStack

import pytest

from fixtures.postgres import find_programs, run_server
from gitworker.store import backend
from gitworker.store.fleet import fleet_database
from gitworker.store.fleet.fleet_database import FleetDatabase
from gitworker.store.sqlite import migrate
from gitworker.store.sqlite.database import Database
from tests.store.machines import NearLink, fresh_location, join_store

RUNNING = pytest.StashKey[ExitStack]()
CREATE, OPEN = migrate.create_database, migrate.open_database
LEFT_OUT = {
    "another program writes to a shared table, which a replica refuses": (
        "tests/claims/test_foreign.py", "tests/claims/test_forks.py",
        "tests/claims/test_holders.py::test_late_workers_are_refused",
        "tests/claims/test_holders.py::test_an_idle_lease_is_still_the_workers",
        "tests/claims/test_holders.py::test_a_task_with_a_foreign_claim_does_not_land",
        "tests/claims/test_holders.py::test_a_task_that_is_taken_while_it_lands",
        "tests/review/test_rounds.py::test_a_round_of_an_older_version_is_shown_without_a_write",
    ),
    "the link has the bus open, too": (
        "tests/bus/test_forks.py::test_a_forked_child_opens_its_own_connection",
    ),
    "the server has what the full disk refused: tests/fleet/test_full_disk.py": (
        "tests/bus/test_full_disk.py::test_a_full_disk",
    ),
}  # fmt: skip


class Server:
    """The location of the server's database."""

    location = ""


def create(path: str) -> Database:
    """Open or create the replica of a machine."""
    database = CREATE(path)
    if database.fleet_machine is None and not database.is_read_only:
        join_store(database, fresh_location(Server.location), "one")
    return _by_way_of_the_server(database)


def reopen(path: str) -> Database:
    """Open a bus.db that exists."""
    return _by_way_of_the_server(OPEN(path))


def _by_way_of_the_server(database: Database) -> Database:
    migrate.read_meta(database)
    if database.fleet_machine is None or database.is_read_only:
        return database
    database.close()
    return FleetDatabase(database.path)


def pytest_configure(config: pytest.Config) -> None:
    """Start the server, and let each store be a replica."""
    programs = find_programs()
    if programs is None:
        raise pytest.UsageError("the programs of PostgreSQL are not installed")
    running = ExitStack()
    config.stash[RUNNING] = running
    Server.location = running.enter_context(run_server(programs))
    fleet_database.LinkClient = NearLink  # type: ignore[misc,assignment]
    for module in (backend, migrate):
        module.create_database, module.open_database = create, reopen  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that suppose a repository of its own."""
    for item in items:
        for reason, tests in LEFT_OUT.items():
            if item.nodeid.startswith(tests):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server."""
    config.stash[RUNNING].close()
