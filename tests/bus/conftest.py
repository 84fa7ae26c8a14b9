"""Fixtures for the tests of the bus: a state directory with its database, or a whole repository."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.app import DIRECTORIES
from gitworker.paths import StatePaths
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import create_database
from tests.bus.scene import Scene


@pytest.fixture
def state(tmp_path: Path) -> StatePaths:
    """An empty state directory outside any repository."""
    root = tmp_path / "worker-state"
    for name in DIRECTORIES:
        (root / name).mkdir(parents=True)
    return StatePaths(str(root))


@pytest.fixture
def store(state: StatePaths) -> Iterator[Database]:
    """The database of that state directory, open."""
    database = create_database(state.database)
    yield database
    database.close()


@pytest.fixture
def scene(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A repository without workers, whose hooks start no drain."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    return Scene(repository)
