"""The fleet's database on PostgreSQL: its guards, its log for other programs, its refusals."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitworker.errors import Conflict, GitWorkerError, Invalid, Unavailable
from gitworker.store.messages.mailbox import NewMessage, newest_seq, publish_message
from gitworker.store.workers import add_worker
from tests.store.machines import Machine, fresh_location, near_links, psql, server_rows

psycopg = pytest.importorskip("psycopg", reason="needs the extra `fleet`")
from gitworker.store.postgres.server import FleetServer  # noqa: E402 - after the check above

GUARD = "GW001"


@pytest.fixture
def location(server: str) -> str:
    """The location of a schema that does not exist yet."""
    return fresh_location(server)


@pytest.fixture
def machine(tmp_path: Path, location: str) -> Iterator[Machine]:
    """The first machine of a fleet, with one worker and one task."""
    made = Machine(tmp_path / "one")
    with near_links():
        made.join(location, "one")
        with made.open() as store, store.write() as writer:
            add_worker(writer, "auth", 1)
            writer.run(
                "tasks.insert", task="login", title="Log in", requires_approval=0, max_retries=1,
                now=1,
            )  # fmt: skip
        yield made


@pytest.fixture
def other(tmp_path: Path, location: str, machine: Machine) -> Machine:
    """Another machine of the same fleet."""
    made = Machine(tmp_path / "two")
    made.join(location, "two")
    return made


def refused(location: str, text: str) -> "psycopg.Error":
    """Return the error of a statement of another program."""
    with psql(location) as connection, pytest.raises(psycopg.Error) as caught:
        connection.execute(text.encode())
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE workers SET state = 'WORKING'",
        "UPDATE workers SET version = 7",
        "DELETE FROM workers",
        "UPDATE tasks SET status = 'COMPLETED'",
        "UPDATE tasks SET open_needs = 7",
        "INSERT INTO task_claims VALUES ('t', 'ci', 1, 2); UPDATE claim_epochs SET epoch = 0",
        "INSERT INTO task_claims VALUES ('t', 'ci', 1, 2); DELETE FROM claim_epochs",
        "INSERT INTO transitions (ts_ms, machine, entity_id, version, from_state, event, to_state,"
        " actor) VALUES (1, 'worker', 'auth', 1, 'IDLE', 'assign', 'ASSIGNED', 'me')",
        "UPDATE legal_transitions SET to_state = 'IDLE'",
        "INSERT INTO legal_transitions VALUES ('worker', 'IDLE', 'magic', 'COMPLETED')",
        "DELETE FROM legal_transitions",
    ],
)
def test_the_guards_refuse_other_programs(machine: Machine, location: str, text: str) -> None:
    """A user of psql cannot change a state, the log of states or the machines of states."""
    before = server_rows(location, machine.shared_columns())
    assert refused(location, text).sqlstate == GUARD
    assert server_rows(location, machine.shared_columns()) == before
    machine.sync()
    assert machine.dump() == before


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE tasks SET title = 'Grüße' WHERE id = 'login'",
        "UPDATE tasks SET title = 'a', priority = 3; UPDATE tasks SET title = 'b'",
        "INSERT INTO messages (id, ts_ms, from_agent, type) VALUES ('theirs', 1, 'ci', 'x-note')",
        "INSERT INTO task_claims VALUES ('t', 'ci', 1, 2); UPDATE task_claims SET claimed_by = 'x'",
        "INSERT INTO task_claims VALUES ('t', 'ci', 1, 2); UPDATE task_claims SET task_id = 'u'",
        "INSERT INTO review_marks VALUES ('ada', 'h', 'p', 1); DELETE FROM review_marks",
        "UPDATE workers SET review_state = NULL, branch = 'b''s'",
    ],
)
def test_a_legal_change_of_another_program_reaches_all(
    machine: Machine, other: Machine, location: str, text: str
) -> None:
    """What a user of psql may change is the same on the server and on every machine afterwards."""
    with psql(location) as connection:
        connection.execute(text.encode())
    for one in (machine, other):
        one.sync()
        assert one.dump() == server_rows(location, one.shared_columns())


def test_numbers_continue_after_those_of_other_programs(machine: Machine, location: str) -> None:
    """A message of psql takes the next position, and ours continues after it."""
    with machine.open() as store:
        publish_message(store, NewMessage("a", "x", ts_ms=1, sender="hq"))
        with psql(location) as connection:
            connection.execute(
                "INSERT INTO messages (id, ts_ms, from_agent, type) VALUES ('b', 1, 'ci', 'x')"
            )
        publish_message(store, NewMessage("c", "x", ts_ms=1, sender="hq"))
        assert newest_seq(store) == 3
    assert machine.query("SELECT seq, id FROM messages ORDER BY seq") == [
        (1, "a"), (2, "b"), (3, "c"),
    ]  # fmt: skip


def test_a_change_that_is_rolled_back_is_not_logged(machine: Machine, location: str) -> None:
    """A transaction of psql that is given up leaves no entry."""
    before = machine.sync()
    with psql(location) as connection:
        connection.execute("BEGIN; UPDATE tasks SET title = 'lost'; ROLLBACK")
    assert machine.sync() == before


@pytest.mark.parametrize("text", ["a\0b", "a\udcff"])
def test_a_text_that_cannot_be_stored(machine: Machine, location: str, text: str) -> None:
    """A NUL byte or invalid UTF-8 is refused everywhere, and the next write works."""
    with machine.open() as store:
        before = machine.dump()
        with pytest.raises(Invalid):
            publish_message(store, NewMessage(text, "x", ts_ms=1, sender="hq"))
        assert machine.dump() == before == server_rows(location, machine.shared_columns())
        publish_message(store, NewMessage("good", "x", ts_ms=1, sender="hq"))


def test_a_writer_waits_for_a_bounded_time(machine: Machine, location: str) -> None:
    """A machine that waits too long for the fleet's lock is told to try again."""
    waiting = FleetServer(location, lock_wait_ms=10)
    with closing(FleetServer(location)) as holder, closing(waiting):
        holder.begin(0)
        with pytest.raises(Conflict) as caught:
            waiting.begin(0)
        assert caught.value.code == "busy"
        holder.cancel()
        waiting.cancel()
        assert waiting.begin(0).entries != []


def refusal(location: str) -> GitWorkerError:
    """Return the error of a connection."""
    with pytest.raises(GitWorkerError) as caught:
        FleetServer(location)
    return caught.value


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda url: url.replace("/postgres?", "/missing?"), "server_unavailable"),
        (lambda url: url.replace("user=tester", "user=missing"), "server_unavailable"),
        (lambda url: re.sub("host=[^&]*", "host=/missing", url), "server_unavailable"),
        (lambda url: f"{url}#{'x' * 64}", "invalid"),
        (lambda url: f"{url}&unknown=1", "server_unavailable"),
        (lambda url: url.replace("postgresql:", "mysql:"), "invalid"),
    ],
)
def test_a_location_that_cannot_be_opened(
    server: str, change: Callable[[str], str], code: str
) -> None:
    """Each wrong location has one message, which is never a traceback."""
    found = refusal(change(server))
    assert found.code == code
    assert "\n" not in found.message


def test_a_role_without_rights_or_connections(server: str) -> None:
    """Missing rights and a full server are reported in the server's words."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN; CREATE ROLE full_ LOGIN CONNECTION LIMIT 0")
    guest = server.replace("user=tester", "user=guest")
    with closing(FleetServer(f"{guest}#forbidden")) as opened, pytest.raises(Unavailable) as caught:
        opened.run("CREATE SCHEMA forbidden")
    assert caught.value.code == "permission_denied"
    assert "too many connections" in refusal(server.replace("=tester", "=full_")).message


def test_a_lost_connection(machine: Machine, location: str) -> None:
    """A connection that the server ends is reported, and a new one works."""
    with closing(FleetServer(location)) as opened:
        with psql(location) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s",
                [opened.connection.info.backend_pid],
            )
        with pytest.raises(Unavailable) as caught:
            opened.fetch(0)
        assert caught.value.code == "server_unavailable"
        opened.cancel()  # which never fails
    with closing(FleetServer(location)) as again:
        assert again.fetch(0).entries[0].position == 1
