"""Fixtures for the tests of several machines."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fixtures.postgres import find_programs, run_server
from tests.fleet.machines.boxes import can_isolate
from tests.fleet.machines.machine import Machine, fleet_of


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The location of a database of a PostgreSQL server of these tests."""
    pytest.importorskip("psycopg", reason="needs the extra `fleet`")
    programs = find_programs()
    if programs is None:
        pytest.skip("needs the programs of PostgreSQL")
    if not can_isolate():
        pytest.skip("needs namespaces of the kernel (unshare)")
    with run_server(programs) as location:
        yield location


@pytest.fixture
def fleet(server: str, tmp_path: Path) -> Iterator[Callable[..., list[Machine]]]:
    """Return machines of one fleet, by their names."""
    with ExitStack() as stack:
        yield lambda *names: stack.enter_context(fleet_of(tmp_path, server, *names))
