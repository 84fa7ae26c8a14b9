"""Fixtures for the tests of the store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import create_database


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
