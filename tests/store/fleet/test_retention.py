"""Retention in a fleet: each machine records what its own agents may not have read yet."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitworker import clock
from gitworker.bus.blobs import save_blob
from gitworker.bus.files.retention import PruneRequest, own_floor, plan_prune, prune
from gitworker.bus.files.rules_retention import DAY_MS
from gitworker.link.connection import FleetConnection
from gitworker.paths import StatePaths
from gitworker.store.fleet.machines import set_need
from gitworker.store.messages.upkeep import record_first_upkeep
from gitworker.store.sqlite.database import Database
from tests.store.machines import Machine, fresh_location, near_links, psql
from tests.store.support import send

SILENT = "UPDATE machines SET seen_at_ms = {}, lease_until_ms = 1 WHERE name = 'two'"
NOW = clock.now_ms()
RETAINED = NOW - 30 * DAY_MS
REQUEST = PruneRequest(RETAINED, frozenset(), since_ms=RETAINED, reported_since_ms=RETAINED)


@pytest.fixture
def location(server: str) -> str:
    """The location of a schema that does not exist yet."""
    return fresh_location(server)


@pytest.fixture
def machines(tmp_path: Path, location: str) -> Iterator[tuple[Machine, Machine]]:
    """Two machines with three old messages: to all, to `nim`, to all."""
    one, two = (Machine(tmp_path / name) for name in ("one", "two"))
    with near_links():
        for machine in (one, two):
            machine.join(location, machine.root.name)
        with one.open() as store:
            for name, to in (("a", None), ("b", "nim"), ("c", None)):
                send(store, name, to_agent=to, ts_ms=NOW - 400 * DAY_MS)
        yield one, two


def read_until(machine: Machine, seq: int) -> None:
    """Let `nim` read on a machine up to a position, and let the machine record it."""
    machine.sync()
    with machine.open() as store:
        store.write_one("messages.ack", agent="nim", seq=seq, now=clock.now_ms())
        record(store)


def record(store: Database) -> None:
    """Record what the agents of a machine may still read."""
    with store.read() as reader:
        floor = own_floor(reader, living=frozenset(), since_ms=RETAINED)
    set_need(store, str(store.fleet_machine), floor.seq)


def pruned(machine: Machine) -> tuple[int, str | None]:
    """Prune on a machine; return how many messages it deleted, and what held it back."""
    machine.sync()
    with machine.open() as store:
        plan = prune(store, StatePaths(str(machine.root)), REQUEST).plan
    return plan.messages, plan.held_by


def left(machine: Machine) -> list[str]:
    """Return the messages that a machine has."""
    machine.sync()
    return [row[0] for row in machine.query("SELECT id FROM messages ORDER BY seq")]


@pytest.mark.parametrize("ended_by", ["leave", "silence"])
def test_messages_stay_until_others_have_recorded_what_they_read(
    machines: tuple[Machine, Machine], location: str, ended_by: str
) -> None:
    """Nothing is pruned until the other machine has left, or was silent for that long."""
    one, two = machines
    assert pruned(one) == (0, "machine two")
    if ended_by == "leave":
        two.leave()
    else:
        with psql(location) as connection:
            connection.execute(SILENT.format(RETAINED + DAY_MS).encode())
            assert pruned(one) == (0, "machine two")
            connection.execute(SILENT.format(RETAINED - 1).encode())
    assert pruned(one) == (3, None)


def test_unread_messages_of_another_machine_stay(machines: tuple[Machine, Machine]) -> None:
    """What an agent of another machine has not read stays however old it is, until it is read."""
    one, two = machines
    read_until(two, 1)
    assert pruned(one) == (1, "machine two")
    assert left(one) == left(two) == ["b", "c"]
    read_until(two, 3)
    assert pruned(one) == (2, None)
    assert left(one) == left(two) == []


def test_a_machine_that_joins_again_needs_everything(
    machines: tuple[Machine, Machine], location: str, tmp_path: Path
) -> None:
    """What a machine recorded before it left says nothing about its agents once it is back."""
    one, two = machines
    read_until(two, 3)
    two.leave()
    one.sync()
    with one.open() as store:
        assert plan_prune(store, REQUEST).messages == 3
    Machine(tmp_path / "again").join(location, "two")
    assert pruned(one) == (0, "machine two")


def test_an_agent_that_begins_to_read(machines: tuple[Machine, Machine]) -> None:
    """Its machine needs the messages that it has not reached yet from the next report on."""
    one, two = machines
    read_until(two, 3)
    with two.open() as store:
        record_first_upkeep(store, now=NOW - DAY_MS)
        store.write_one("messages.ack", agent="gone", seq=0, now=NOW - 2 * DAY_MS)
        store.write_one("messages.ack", agent="new", seq=1, now=NOW)
    with closing(FleetConnection(StatePaths(str(two.root)))) as connection:
        connection.report()
    assert pruned(one) == (2, "machine two")
    assert left(one) == ["c"]


def test_what_is_known_costs_no_write(machines: tuple[Machine, Machine]) -> None:
    """A machine that records the same again writes nothing."""
    _, two = machines
    read_until(two, 2)
    before = two.sync()
    with two.open() as store:
        record(store)
    assert two.sync() == before


def test_a_worker_with_open_work(machines: tuple[Machine, Machine]) -> None:
    """Its unread messages stay while its agent is gone; its machine knows what it has read."""
    one, two = machines
    with one.open() as store:
        store.write_one("messages.ack", agent="nim", seq=3, now=1)  # when its place was there
    with two.open() as store, store.write() as writer:
        writer.run("tasks.insert", task="t", title="", requires_approval=0, max_retries=1, now=1)
        writer.run("workers.insert", worker="nim", now=1)
        writer.run(
            "workers.set_assignment", worker="nim", task="t", branch="b", base_oid=None,
            worktree="/two/t", admin_dir=None, now=1,
        )  # fmt: skip
    for machine in (one, two):
        with machine.open() as store:
            record(store)
    assert pruned(one) == (2, None)
    assert pruned(two) == (0, None)
    assert left(one) == ["b"]
    read_until(two, 2)
    assert pruned(one) == (0, None)
    assert pruned(two) == (1, None)
    assert left(one) == []


def test_payloads_go_with_their_last_message(
    machines: tuple[Machine, Machine], location: str
) -> None:
    """The server deletes a large payload once no message names it, and keeps the others."""
    one, two = machines
    blobs = StatePaths(str(one.root)).blobs
    old, kept = (save_blob(blobs, text * 9000) for text in (b"a", b"b"))
    with one.open() as store:
        for number, (ref, age) in enumerate([(old, 400), (kept, 400), (kept, 0)]):
            ts_ms = NOW - age * DAY_MS
            send(store, f"large-{number}", payload_ref=ref, ts_ms=ts_ms)
    assert prune_server(one, location) == {old, kept}
    two.leave()
    assert pruned(one) == (5, None)
    assert prune_server(one, location) == {kept}


def prune_server(machine: Machine, location: str) -> set[str]:
    """Let the link of a machine prune the server; return the payloads that are left there."""
    with closing(FleetConnection(StatePaths(str(machine.root)))) as connection:
        connection.report()
        connection.prune()
    with psql(location) as connection:
        return {str(row[0]) for row in connection.execute("SELECT ref FROM payloads").fetchall()}
