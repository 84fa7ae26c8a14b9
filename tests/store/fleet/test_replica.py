"""The guards of a replica: its shared tables are written by way of the link only."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from gitworker.errors import Conflict
from gitworker.model.ids import Oid, Ref
from gitworker.store.backend import open_hot_store, open_store
from gitworker.store.messages.mailbox import NewMessage, publish_message
from gitworker.store.records.tips import all_tips, set_tip
from gitworker.store.workers import add_worker, all_workers
from tests.store.machines import Machine, fresh_location, near_links
from tests.store.support import foreign

MESSAGE = "INSERT INTO messages (id, ts_ms, from_agent, type) VALUES ('a', 1, 'hq', 'x')"


@pytest.fixture
def machine(tmp_path: Path, server: str) -> Iterator[Machine]:
    """The only machine of a fleet, with one worker and a claim."""
    made = Machine(tmp_path / "one")
    with near_links():
        made.join(fresh_location(server), "one")
        with made.open() as store, store.write() as writer:
            add_worker(writer, "auth", 1)
            writer.run("claims.insert", task="t", agent="auth", now=1, lease_until_ms=2)
        yield made


@pytest.mark.parametrize(
    "text",
    [
        MESSAGE,
        "UPDATE workers SET branch = 'other'",
        "DELETE FROM workers",
        "INSERT INTO task_claims VALUES ('u', 'auth', 1, 2)",
        "UPDATE task_claims SET claimed_by = 'docs'",
        "DELETE FROM task_claims",
        "DELETE FROM machines",
    ],
)
def test_other_programs_change_nothing_that_is_shared(machine: Machine, text: str) -> None:
    """Python's sqlite3 and a connection of apsw are refused on a shared table."""
    before = machine.dump()
    (answer,) = foreign(machine.path, text)
    assert "fleet" in str(answer)
    connection = apsw.Connection(machine.path)
    with pytest.raises(apsw.Error):
        connection.execute(text)
    connection.close()
    assert machine.dump() == before


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO cursors (agent_id, last_acked_seq, updated_at_ms) VALUES ('a', 1, 1)",
        "UPDATE task_claims SET lease_until_ms = 9",
        "INSERT INTO meta VALUES ('theirs', '1')",
        "SELECT COUNT(*) FROM messages",
    ],
)
def test_what_belongs_to_the_machine_is_free(machine: Machine, text: str) -> None:
    """Other programs read everything, and write the tables that a machine has for itself."""
    (answer,) = foreign(machine.path, text)
    assert answer in ([], [[0]])


def test_a_hot_store_leaves_messages_to_the_link(machine: Machine) -> None:
    """A store that never waits keeps a message for the link, and refuses every other change."""
    store = open_hot_store(machine.path)
    publish_message(store, NewMessage("a", "x", ts_ms=1, sender="hq"))
    publish_message(store, NewMessage("a", "x", ts_ms=2, sender="hq"))
    assert [row["id"] for row in store.rows("fleet.outbox", limit=9)] == ["a"]
    with store.write() as writer:
        set_tip(writer, Ref("refs/heads/one"), Oid("a"), now=1)
    with pytest.raises(Conflict) as caught, store.write() as writer:
        add_worker(writer, "docs", 1)
    assert caught.value.code == "needs_link"
    store.close()
    with machine.open() as opened:
        assert [one.worker_id for one in all_workers(opened)] == ["auth"]
        assert list(all_tips(opened)) == ["refs/heads/one"]


def test_a_store_that_was_opened_before_its_repository_joined(tmp_path: Path, server: str) -> None:
    """A command that opened the store before the fleet is told to run again."""
    made = Machine(tmp_path / "one")
    with made.open_or_create() as before, near_links():
        made.join(fresh_location(server), "one")
        with pytest.raises(Conflict) as caught, before.write() as writer:
            add_worker(writer, "docs", 1)
        assert caught.value.code == "needs_link"
        again = open_store(made.path)
        with again.write() as writer:
            add_worker(writer, "docs", 1)
        again.close()
