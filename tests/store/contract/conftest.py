"""A fresh store of each kind. These tests know a store by its location only."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.store.api import Store
from gitworker.store.backend import create_store, open_store

KINDS = ("alone", "fleet")


@pytest.fixture(params=KINDS)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The location of a store that stands alone, or that is one machine's replica in a fleet."""
    path = str(tmp_path / "bus.db")
    if request.param == "alone":
        yield path
        return
    server = request.getfixturevalue("server")
    from tests.store.machines import (
        Machine,
        fresh_location,
        near_links,
    )  # after the check for psycopg

    with near_links():
        Machine(tmp_path).join(fresh_location(server), "one")
        yield path


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
