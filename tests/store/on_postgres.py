"""Run suites of use cases on PostgreSQL, as `make postgres` does.

Each bus.db of a test becomes a schema of one server, and an empty file stands in its place. Only
this process and its forks are changed: a test of a program that opens a bus.db of its own, or of
SQLite itself, does not pass here.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from hashlib import sha1
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gitworker.errors import Unavailable
from gitworker.store import backend
from gitworker.store.postgres.adapters import adapt
from gitworker.store.postgres.database import PostgresDatabase
from gitworker.store.postgres.opening import create_postgres, open_postgres
from gitworker.store.postgres.rules_dialect import query_of
from tests.store import support
from tests.store.postgres import find_programs, run_server

RUNNING = pytest.StashKey[ExitStack]()
# What tests ask SQLite about itself, with the question or the answer here.
CHECK = "PRAGMA integrity_check"
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
OUR_TABLES = (
    "SELECT table_name::text FROM information_schema.tables"
    " WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'"
)
# Tests with programs that open bus.db themselves (other participants, processes that are killed,
# commands of verify commands), and of SQLite's own files.
WITH_OTHER_PROGRAMS = (
    "tests/claims/test_foreign.py", "tests/claims/test_forks.py",
    "tests/claims/test_holders.py::test_late_workers_are_refused",
    "tests/claims/test_holders.py::test_an_idle_lease_is_still_the_workers",
    "tests/claims/test_holders.py::test_a_task_with_a_foreign_claim_does_not_land",
    "tests/claims/test_holders.py::test_a_task_that_is_taken_while_it_lands",
    "tests/landing/test_merge_target.py::test_bare_repository",
    "tests/landing/test_queue.py::test_reviews_continue_while_a_window_is_verified",
    "tests/landing/test_queue_edges.py::test_killed_after_the_push",
    "tests/landing/test_queue_one_bad.py::test_a_verify_command_that_lands_or_verifies",
    "tests/landing/test_queue_remote.py::test_killed_around_the_push",
    "tests/landing/test_queue_remote.py::test_no_guess_whether_a_push_arrived",
    "tests/landing/test_real_commits.py",
    "tests/review/comments/test_killed.py",
    "tests/review/test_page.py::test_work_without_a_verify_run",
    "tests/review/test_rounds.py::test_a_round_of_an_older_version_is_shown_without_a_write",
    "tests/tasks/admission/test_admit.py",
)  # fmt: skip


class Server:
    """The location of the server's database."""

    location = ""


def location_of(path: Path | str) -> str:
    """Return the location of the schema that stands for a bus.db."""
    name = sha1(os.path.realpath(path).encode(), usedforsecurity=False).hexdigest()
    return f"{Server.location}#{name}"


def create(path: str) -> PostgresDatabase:
    """Open or create the schema of a bus.db."""
    database = create_postgres(location_of(path))
    Path(path).touch()
    return database


def reopen(path: str) -> PostgresDatabase:
    """Open the schema of a bus.db that exists."""
    if not os.path.exists(path):
        raise Unavailable(f"{path} does not exist", "git worker init", code="not_initialised")
    return open_postgres(location_of(path))


class Foreign:
    """A connection as another program has it, with the methods of apsw's that tests use."""

    def __init__(self, path: Path | str) -> None:
        conninfo, _, schema = location_of(path).partition("#")
        self.connection = psycopg.connect(
            conninfo, autocommit=True, cursor_factory=psycopg.ClientCursor
        )
        adapt(self.connection)  # type: ignore[arg-type]  # rows are tuples here
        self.connection.execute(f'SET search_path = "{schema}"'.encode())

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one statement in SQLite's dialect."""
        if sql == CHECK:
            return [("ok",)]
        if sql == TABLES:
            sql = OUR_TABLES
        text = re.sub(r"\?", "%s", query_of(sql)) if values else query_of(sql).replace("%%", "%")
        cursor = self.connection.execute(text.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


class Rows(list[tuple[Any, ...]]):
    """Rows with the method of a cursor that tests call."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows."""
        return list(self)


def foreign(database: Path | str, *statements: support.Statement) -> list[object]:
    """Run statements as another program: rows, or error texts."""
    answers: list[object] = []
    with closing(Foreign(database)) as connection:
        for sql, values in ((one, []) if isinstance(one, str) else one for one in statements):
            try:
                answers.append([list(row) for row in connection.execute(sql, values)])
            except psycopg.Error as error:
                answers.append(str(error))
    return answers


@contextmanager
def reading(world: Any) -> Iterator[Any]:
    """Open the database of a test's world."""

    class Reading(Foreign):
        def execute(self, sql: str, values: Sequence[object] = ()) -> Rows:
            return Rows(super().execute(sql, values))

    with closing(Reading(f"{world.state_dir}/bus.db")) as connection:
        yield connection


def pytest_configure(config: pytest.Config) -> None:
    """Start the server, and let the store be opened there."""
    programs = find_programs()
    if programs is None:
        raise pytest.UsageError("the programs of PostgreSQL are not installed")
    running = ExitStack()
    config.stash[RUNNING] = running
    Server.location = running.enter_context(run_server(programs))
    backend.open_database, backend.create_database = reopen, create  # type: ignore[assignment]
    support.foreign = foreign
    from tests.workers.world import World  # it imports the function above

    World.reading = reading  # type: ignore[assignment, method-assign]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests with programs that know bus.db only."""
    for item in items:
        if item.nodeid.startswith(WITH_OTHER_PROGRAMS):
            item.add_marker(pytest.mark.skip(reason="another program opens bus.db"))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server."""
    config.stash[RUNNING].close()
