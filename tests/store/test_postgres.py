"""What is special about the store on PostgreSQL: its dialect, its one writer, its refusals."""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from glob import glob
from itertools import count

import pytest

from gitworker.errors import Conflict, GitWorkerError, Invalid, Unavailable
from gitworker.store.api import Store
from gitworker.store.backend import create_store, open_store
from gitworker.store.messages.mailbox import (
    NewMessage,
    publish_message,
    unread_messages,
)
from gitworker.store.sqlite.queries import load_queries
from tests.conftest import TESTS

psycopg = pytest.importorskip("psycopg", reason="needs the extra `fleet`")
from gitworker.store.postgres.queries import query_text  # noqa: E402 - after the check above

QUERIES = TESTS.parent / "gitworker/store/sqlite/queries"
WRITERS, EACH = 8, 25
NUMBERS = count(1)


@pytest.fixture
def location(server: str) -> str:
    """The location of a schema that does not exist yet."""
    return f"{server}#special{next(NUMBERS)}"


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    """A fresh store."""
    with closing(create_store(location)) as created:
        yield created


@contextmanager
def foreign(location: str) -> "Iterator[psycopg.Connection[tuple[object, ...]]]":
    """Give a connection as psql has it."""
    conninfo, _, schema = location.partition("#")
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(f"SET search_path = {schema}")
        yield connection


def test_every_query_is_valid(store: Store, location: str) -> None:
    """The server accepts each named query in its translation."""
    rooms = [os.path.basename(path).removesuffix(".sql") for path in glob(f"{QUERIES}/*.sql")]
    names = [f"{room}.{query}" for room in rooms for query in load_queries(room)]
    assert len(names) > 300
    refused = {}
    with foreign(location) as connection:
        for name in names:
            text = query_text(name)
            values = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)))
            for number, value in enumerate(values, 1):
                text = text.replace(f"%({value})s", f"${number}")
            try:
                connection.execute(f"PREPARE one AS {text.replace('%%', '%')}")
                connection.execute("DEALLOCATE one")
            except (psycopg.errors.IndeterminateDatatype, psycopg.errors.AmbiguousParameter):
                continue  # a value is only compared with NULL; ours are sent with their types
            except psycopg.Error as error:
                refused[name] = str(error)
    assert refused == {}


def test_a_cursor_misses_no_message_of_many_writers(store: Store, location: str) -> None:
    """The order of positions is the order of commits, so a reader sees each message once."""

    def publish(writer: int) -> None:
        with closing(open_store(location)) as own:
            for number in range(EACH):
                publish_message(own, NewMessage(f"{writer}-{number}", "x", ts_ms=1, sender="hq"))

    threads = [threading.Thread(target=publish, args=(one,)) for one in range(WRITERS)]
    seen: list[str] = []
    last = 0
    with store.open_waker() as waker:
        for thread in threads:
            thread.start()
        while len(seen) < WRITERS * EACH:
            found = [one for one in unread_messages(store, "a", limit=1000) if one.seq > last]
            seen += [one.id for one in found]
            last = max([last, *(one.seq for one in found)])
            if not found:
                assert waker.wait(60)
    for thread in threads:
        thread.join()
    assert len(set(seen)) == len(seen) == last == WRITERS * EACH


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE workers SET state = 'WORKING'",
        "DELETE FROM workers",
        "INSERT INTO transitions (ts_ms, machine, entity_id, version, from_state, event, to_state,"
        " actor) VALUES (1, 'worker', 'auth', 1, 'IDLE', 'assign', 'ASSIGNED', 'me')",
        "UPDATE legal_transitions SET to_state = 'IDLE'",
        "INSERT INTO legal_transitions VALUES ('worker', 'IDLE', 'magic', 'COMPLETED')",
    ],
)
def test_the_guards_refuse_other_programs(store: Store, location: str, text: str) -> None:
    """A user of psql cannot change a state, the log or the machines."""
    from gitworker.store.workers import add_worker, load_worker

    with store.write() as writer:
        add_worker(writer, "auth", 1)
    with foreign(location) as connection, pytest.raises(psycopg.Error) as caught:
        connection.execute(text)
    assert caught.value.sqlstate == "GW001"
    assert load_worker(store, "auth").state == "IDLE"


@pytest.mark.parametrize("text", ["a\0b", "a\udcff"])
def test_a_text_that_cannot_be_stored(store: Store, text: str) -> None:
    """A NUL byte or invalid UTF-8 is refused, and the store still works."""
    with pytest.raises(Invalid):
        publish_message(store, NewMessage(text, "x", ts_ms=1, sender="hq"))
    publish_message(store, NewMessage("good", "x", ts_ms=1, sender="hq"))


def test_a_writer_waits_for_a_bounded_time(store: Store, location: str) -> None:
    """A writer that waits too long for another one is told to try again."""
    with closing(open_store(location)) as other, store.write():
        other.wait_at_most(10)
        with pytest.raises(Conflict) as caught:
            publish_message(other, NewMessage("a", "x", ts_ms=1, sender="hq"))
        assert caught.value.code == "busy"


def refusal(location: str) -> GitWorkerError:
    """Return the error of opening a store."""
    with pytest.raises(GitWorkerError) as caught:
        open_store(location)
    return caught.value


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda url: url.replace("/postgres?", "/missing?"), "server_unavailable"),
        (lambda url: url.replace("user=tester", "user=missing"), "server_unavailable"),
        (lambda url: re.sub("host=[^&]*", "host=/missing", url), "server_unavailable"),
        (lambda url: f"{url}#{'x' * 64}", "invalid"),
        (lambda url: f"{url}&unknown=1", "server_unavailable"),
        (lambda url: f"{url}#missing", "not_initialised"),
    ],
)  # fmt: skip
def test_a_location_that_cannot_be_opened(server: str, change: "object", code: str) -> None:
    """Each wrong location has one message, which is never a traceback."""
    assert callable(change)
    assert refusal(change(server)).code == code


@pytest.mark.parametrize(("version", "code"), [("99", "newer_schema"), ("1", "older_schema")])
def test_another_version(store: Store, location: str, version: str, code: str) -> None:
    """A store of another version is refused and not changed."""
    with foreign(location) as connection:
        connection.execute("UPDATE meta SET value = %s WHERE key = 'gitworker_schema'", [version])
    found = refusal(location)
    assert isinstance(found, Unavailable)
    assert found.code == code
    assert f"has version {version}" in found.message
    with pytest.raises(Unavailable):
        create_store(location)


def test_a_server_that_only_reads(store: Store, location: str) -> None:
    """A replica answers reads, and refuses writes with one message."""
    conninfo, _, schema = location.partition("#")
    reading = f"{conninfo}&options=-c%20default_transaction_read_only%3Don#{schema}"
    with closing(open_store(reading)) as opened:
        assert opened.is_read_only
        assert unread_messages(opened, "a", limit=9) == []
        for refused in (
            opened.require_writable,
            lambda: publish_message(opened, NewMessage("a", "x", ts_ms=1, sender="hq")),
        ):
            with pytest.raises(Unavailable) as caught:
                refused()
            assert caught.value.code == "read_only"


def test_a_role_without_rights_or_connections(server: str) -> None:
    """Missing rights and a full server are reported in the server's words."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN; CREATE ROLE full_ LOGIN CONNECTION LIMIT 0")
    guest = server.replace("user=tester", "user=guest")
    with pytest.raises(Unavailable) as caught:
        create_store(f"{guest}#forbidden")
    assert caught.value.code == "permission_denied"
    assert "too many connections" in refusal(server.replace("=tester", "=full_")).message


def test_a_lost_connection(store: Store, location: str) -> None:
    """A connection that the server ends is reported, and a new one works."""
    with foreign(location) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND application_name = 'gitworker'"
        )
    with pytest.raises(Unavailable) as caught:
        unread_messages(store, "a", limit=9)
    assert caught.value.code == "server_unavailable"
    with closing(open_store(location)) as opened:
        assert unread_messages(opened, "a", limit=9) == []
