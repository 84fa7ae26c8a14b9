"""Fixtures for the tests of the store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.postgres import find_programs, run_server
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import create_database


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The location of a database of a PostgreSQL server of these tests."""
    pytest.importorskip("psycopg", reason="needs the extra `fleet`")
    programs = find_programs()
    if programs is None:
        pytest.skip("needs the programs of PostgreSQL")
    with run_server(programs) as location:
        yield location


@pytest.fixture
def bus(tmp_path: Path) -> Path:
    """The path of a fresh bus.db."""
    path = tmp_path / "bus.db"
    create_database(str(path)).close()
    return path


@pytest.fixture
def store(bus: Path) -> Iterator[Database]:
    """A fresh bus.db, open."""
    database = create_database(str(bus))
    yield database
    database.close()
