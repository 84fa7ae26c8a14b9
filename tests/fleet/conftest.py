"""Fixtures for the tests of fleets: a server, machines, and a way to the server that can close."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.conftest import server
from tests.store.machines import Machine, fresh_location, psql
from tests.workers.conftest import world

__all__ = ["server", "world"]
ENDED = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE application_name LIKE 'gitworker%' AND pid <> pg_backend_pid()"
)


class Door:
    """A way to the server that a test closes, as if the server had stopped."""

    def __init__(self, location: str) -> None:
        self._server = location
        self._real = re.findall(r"host=([^&#]*)", location)[0]
        self._home = tempfile.mkdtemp(prefix="gwdoor-", dir="/tmp")  # a socket's path is short
        self._way = f"{self._home}/pg"
        os.symlink(self._real, self._way)
        self.location = location.replace(self._real, self._way)

    def shut(self) -> None:
        """End all connections, and let nobody connect."""
        os.unlink(self._way)
        with psql(self._server) as connection:
            connection.execute(ENDED)

    def open(self) -> None:
        """Let everybody connect again."""
        os.symlink(self._real, self._way)

    def end_connections(self) -> None:
        """End all connections; new ones are possible."""
        with psql(self._server) as connection:
            connection.execute(ENDED)

    def remove(self) -> None:
        """Remove the way."""
        shutil.rmtree(self._home)


@pytest.fixture
def location(server: str) -> str:
    """The location of a schema that does not exist yet."""
    return fresh_location(server)


@pytest.fixture
def door(location: str) -> Iterator[Door]:
    """A way to the server that is open."""
    made = Door(location)
    yield made
    made.remove()


@pytest.fixture
def machines(tmp_path: Path, door: Door) -> Iterator[list[Machine]]:
    """Two machines of a fleet; their links are processes."""
    made = [Machine(tmp_path / name) for name in ("one", "two")]
    for machine in made:
        machine.join(door.location, machine.root.name)
    yield made
    for machine in made:
        machine.kill_link()
