"""A fresh store of each backend. These tests know a backend by its location only."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitworker.store.api import Store
from gitworker.store.backend import create_store, open_store

# Backend → makes the location of a store that does not exist yet.
LOCATIONS: dict[str, Callable[[Path], str]] = {"sqlite": lambda folder: str(folder / "bus.db")}


@pytest.fixture(params=list(LOCATIONS))
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The location of a store of one backend, not created yet."""
    return LOCATIONS[request.param](tmp_path)


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    """A fresh store."""
    created = create_store(location)
    yield created
    created.close()


@pytest.fixture
def other(store: Store, location: str) -> Iterator[Store]:
    """A second connection to the same store."""
    opened = open_store(location)
    yield opened
    opened.close()
