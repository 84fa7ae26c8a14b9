"""Replicas are equal: each machine and the server have the same rows, whoever wrote them."""

import os
import random
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from gitworker.errors import Conflict
from gitworker.model.ids import Oid, Ref
from gitworker.store.api import Store, Writer
from gitworker.store.backend import open_hot_store
from gitworker.store.claims import insert_claim, read_instant, release_claim
from gitworker.store.fleet.replica import find_position
from gitworker.store.heartbeats import record_heartbeat
from gitworker.store.messages.mailbox import NewMessage, insert_message, newest_seq
from gitworker.store.messages.transitions import NewTransition, insert_transition
from gitworker.store.operations import begin_operation, find_operation
from gitworker.store.payloads.payload import Unreadable
from gitworker.store.records.tips import all_tips, set_tip
from gitworker.store.reviewing.comments import NewComment, add_comment, drop_comment, set_text
from gitworker.store.reviewing.marks import clear_viewed, mark_viewed
from gitworker.store.rules_leases import LeaseLength
from gitworker.store.workers import add_worker, all_workers, find_worker, set_worktree
from tests.store.machines import Machine, NearLink, fresh_location, near_links, psql, server_rows
from tests.store.support import SCALE

NAMES = ("one", "two")
SEED = int(os.environ.get("GITWORKER_TEST_SEED", "0"))
STEPS = 40
COMMENT = NewComment("auth", "login", 1, "hq", "Ada <a@x>", "why?", None)


@pytest.fixture
def location(server: str) -> str:
    """The location of the fleet."""
    return fresh_location(server)


@pytest.fixture
def machines(tmp_path: Path, location: str) -> Iterator[list[Machine]]:
    """Two machines of a fleet, without processes."""
    made = [Machine(tmp_path / name) for name in NAMES]
    with near_links():
        for machine, name in zip(made, NAMES, strict=True):
            machine.join(location, name)
        yield made


def publish(writer: Writer, chance: random.Random) -> None:
    """Publish a message; its id may exist."""
    text = chance.choice(["{}", '{"text":"Grüße 🎉"}', "null"])
    insert_message(
        writer, NewMessage(str(chance.randrange(40)), "x", ts_ms=1, sender="hq", payload=text)
    )


def hire(writer: Writer, chance: random.Random) -> None:
    """Add a worker; it may exist."""
    add_worker(writer, f"w{chance.randrange(9)}", 1)


def assign(writer: Writer, chance: random.Random) -> None:
    """Move a worker to ASSIGNED; it may not be IDLE, or not exist."""
    name = f"w{chance.randrange(9)}"
    found = find_worker(writer, name)
    version = found.version + 1 if found else 1
    insert_transition(
        writer,
        NewTransition(
            "worker",
            name,
            version,
            "IDLE",
            "assign",
            "ASSIGNED",
            5,
            "hq",
            metadata="{}",
            lines="[]",
        ),
    )


def comment(writer: Writer, chance: random.Random) -> None:
    """Write a draft, change it, or drop it."""
    added = add_comment(writer, COMMENT, now=7)
    for _ in range(chance.randrange(3)):
        set_text(writer, added, chance.choice("abc"))
    if chance.random() < 0.5:
        drop_comment(writer, added)


def mark(writer: Writer, chance: random.Random) -> None:
    """Mark hunks as viewed, and some not."""
    for _ in range(5):
        change = chance.choice([clear_viewed, lambda *key: mark_viewed(*key, path="p", now=1)])
        change(writer, "ada", f"h{chance.randrange(4)}")


def claim(writer: Writer, chance: random.Random) -> None:
    """Take a claim from whoever has it, or release it."""
    task, agent = f"t{chance.randrange(3)}", chance.choice("ab")
    if chance.random() < 0.6:
        insert_claim(writer, task, agent, length=LeaseLength(60_000), at=read_instant())
    else:
        release_claim(writer, task, agent)


def beat(writer: Writer, chance: random.Random) -> None:
    """Record what belongs to this machine alone."""
    record_heartbeat(writer, chance.choice("ab"), status="working", task=None, progress=0.25)
    set_tip(writer, Ref(f"refs/heads/{chance.choice('ab')}"), Oid(str(chance.random())), now=1)


STEPS_OF_A_TRANSACTION = (publish, hire, assign, comment, mark, claim, beat)


def live(store: Store, chance: random.Random, steps: int) -> None:
    """Run random transactions; some are refused, some end with an error of their own."""
    for _ in range(steps):
        with suppress(Conflict, ZeroDivisionError), store.write(durable=False) as writer:
            for change in chance.choices(STEPS_OF_A_TRANSACTION, k=chance.randint(1, 4)):
                change(writer, chance)
            if chance.random() < 0.1:
                raise ZeroDivisionError


def require_equal(machines: list[Machine], location: str) -> None:
    """Fail unless all machines and the server have the same rows."""
    positions = {machine.sync() for machine in machines}
    assert len(positions) == 1
    first, *others = [machine.dump() for machine in machines]
    assert sum(len(rows) for rows in first.values()) > len(machines)
    assert all(one == first for one in others)
    assert server_rows(location, machines[0].shared_columns()) == first


@pytest.mark.parametrize("seed", range(SEED, SEED + 3 * SCALE))
def test_random_transactions_in_turn(machines: list[Machine], location: str, seed: int) -> None:
    """After random transactions on two machines in turn all have the same rows."""
    chance = random.Random(seed)
    with machines[0].open() as one, machines[1].open() as two:
        for _ in range(STEPS // 4):
            live(chance.choice([one, two]), chance, 4)
    require_equal(machines, location)


def test_random_transactions_at_once(machines: list[Machine], location: str) -> None:
    """Two writers on each of two machines at the same time make one order of all transactions."""

    def run(machine: Machine, seed: int) -> None:
        with machine.open() as store:
            live(store, random.Random(seed), STEPS)

    threads = [
        threading.Thread(target=run, args=(machine, number))
        for number, machine in enumerate(machines * 2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    require_equal(machines, location)


def test_a_machine_that_joins_later(machines: list[Machine], location: str, tmp_path: Path) -> None:
    """A machine that joins later begins with all rows and the next numbers."""
    with machines[0].open() as one:
        live(one, random.Random(SEED), STEPS)
    late = Machine(tmp_path / "late")
    late.join(location, "late")
    with late.open() as store:
        last = newest_seq(store)
        with store.write() as writer:
            insert_message(writer, NewMessage("next", "x", ts_ms=1, sender="hq"))
        assert newest_seq(store) == last + 1
    require_equal([*machines, late], location)


def test_a_machine_that_was_away_for_longer_than_the_log(
    machines: list[Machine], location: str
) -> None:
    """A machine whose next entries were deleted from the log takes over all rows instead."""
    with machines[0].open() as one:
        live(one, random.Random(SEED + 1), STEPS)
    with psql(location) as connection:
        connection.execute(
            "DELETE FROM fleet_log WHERE position < (SELECT MAX(position) - 1 FROM fleet_log)"
        )
    require_equal(machines, location)


def test_own_rows_stay_on_their_machine(machines: list[Machine]) -> None:
    """Rows of a machine's own tables are written with the shared ones, on that machine only."""
    with machines[0].open() as one, one.write() as writer:
        set_tip(writer, Ref("refs/heads/main"), Oid("a"), now=1)
        add_worker(writer, "auth", 1)
    machines[1].sync()
    for machine, tips in zip(machines, (1, 0), strict=True):
        with machine.open() as store:
            assert len(all_tips(store)) == tips
            assert len(all_workers(store)) == 1


def test_a_user_of_psql_changes_no_own_columns(machines: list[Machine], location: str) -> None:
    """What each machine has for itself stays if another program updates a row on the server."""
    with machines[0].open() as one, one.write() as writer:
        add_worker(writer, "auth", 1)
        set_worktree(writer, "auth", "/w", admin_dir="/a")
    with psql(location) as connection:
        connection.execute("UPDATE workers SET pr_url = 'x'")
        connection.execute("UPDATE workers SET pr_url = 'x'")  # changes nothing
    for machine, place in zip(machines, ("/w", None), strict=True):
        machine.sync()
        assert machine.query("SELECT pr_url, worktree FROM workers") == [("x", place)]


class Overtaken(NearLink):
    """A link that writes only after another command of the machine has begun an operation."""

    def commit(self, shared: str, own: str, *, durable: bool, waits: bool = False) -> int:
        """Let the other command come first."""
        hot = open_hot_store(self.path)
        with closing(hot), hot.write() as writer:
            begin(writer, "other")
        return super().commit(shared, own, durable=durable, waits=waits)


def begin(writer: Writer, worker: str) -> int:
    """Begin an operation, whose row belongs to its machine."""
    return begin_operation(
        writer, "spawn", worker=worker, task="t", actor="hq", now=1, data=Unreadable("{}")
    )


def test_numbers_of_own_rows_are_given_once(machines: list[Machine]) -> None:
    """A row that another command adds before ours is written keeps its number, and ours its own."""
    with machines[0].fleet() as store:
        store.link = Overtaken(str(machines[0].root))  # type: ignore[assignment]
        for number in (1, 3):
            with store.write() as writer:
                add_worker(writer, f"w{number}", 1)
                assert begin(writer, "auth") == number
        found = [find_operation(store, number) for number in range(1, 5)]
    assert [one and one.worker_id for one in found] == ["auth", "other", "auth", "other"]


def test_an_error_writes_nothing_anywhere(machines: list[Machine], location: str) -> None:
    """An error inside a transaction leaves the log and both replicas as they were."""
    before = machines[0].sync()
    with machines[0].fleet() as store:
        with suppress(ZeroDivisionError), store.write() as writer:
            add_worker(writer, "auth", 1)
            set_tip(writer, Ref("refs/heads/main"), Oid("a"), now=1)
            raise ZeroDivisionError
        assert find_position(store) == before
        assert (all_workers(store), all_tips(store)) == ([], {})
        with store.write() as writer:  # the lock is free
            add_worker(writer, "docs", 1)
    require_equal(machines, location)
