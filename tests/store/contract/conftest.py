"""A fresh store of each backend. These tests know a backend by its location only."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from gitworker.store.api import Store
from gitworker.store.backend import create_store, open_store

NUMBERS = count(1)
BACKENDS = ("sqlite", "postgres")


@pytest.fixture(params=BACKENDS)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The location of a store of one backend, not created yet."""
    make: dict[str, Callable[[], str]] = {
        "sqlite": lambda: str(tmp_path / "bus.db"),
        "postgres": lambda: f"{request.getfixturevalue('server')}#test{next(NUMBERS)}",
    }
    return make[request.param]()


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
