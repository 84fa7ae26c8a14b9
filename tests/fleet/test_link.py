"""The link's process: what a kill, a lost connection or a stopped server leave on each machine."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing

import pytest

from gitworker.errors import LOST, UNREACHABLE, Conflict, Invalid, Unavailable
from gitworker.link.connection import FRESH_MS, RETRY_MS
from gitworker.model.ids import Oid, Ref
from gitworker.store.api import Store
from gitworker.store.backend import open_hot_store, serve_fleet
from gitworker.store.fleet.link_client import SOCKET, connect_link
from gitworker.store.messages.mailbox import NewMessage, newest_seq, publish_message
from gitworker.store.records.tips import all_tips, find_tip, set_tip
from gitworker.store.sqlite.write_gate import WriteGate
from gitworker.store.workers import add_worker, all_workers
from tests.fleet.conftest import Door
from tests.store.machines import Machine, psql
from tests.store.support import wait_until

MAIN = Ref("refs/heads/main")
HOLDER = """
import sys
from gitworker.store.backend import open_store
store = open_store(sys.argv[1])
with store.write() as writer:
    writer.run("workers.insert", worker="lost", now=1)
    print("holds", flush=True)
    sys.stdin.read()
"""


def write_both(store: Store, name: str, *, last: Callable[[], object] = tuple) -> None:
    """Write a shared row and one of the machine's own in one transaction; then call `last`."""
    with store.write() as writer:
        add_worker(writer, name, 1)
        set_tip(writer, MAIN, Oid(name), now=1)
        last()


def workers_of(machine: Machine) -> list[str]:
    """Return the workers in a replica as it is."""
    return [name for (name,) in machine.query("SELECT worker_id FROM workers ORDER BY worker_id")]


def tip_of(machine: Machine) -> Oid | None:
    """Return the tip that a machine has for itself."""
    with machine.open() as store:
        return find_tip(store, MAIN)


def require_everywhere(machines: list[Machine], *names: str) -> None:
    """Fail unless every machine has exactly these workers, and the same rows otherwise."""
    for machine in machines:
        machine.sync()
    wait_until(lambda: machines[0].dump() == machines[1].dump(), "equal replicas")
    assert [workers_of(machine) for machine in machines] == [list(names)] * 2


def test_a_change_arrives_without_a_question(machines: list[Machine]) -> None:
    """A machine whose link runs has the changes of others soon, though no command asks."""
    one, two = machines
    two.start_link()
    with one.open() as store:
        write_both(store, "auth")
    wait_until(lambda: workers_of(two) == ["auth"], "the row on the other machine")
    assert tip_of(one) == "auth"
    assert tip_of(two) is None


def test_the_log_files_follow(machines: list[Machine]) -> None:
    """A link writes the log files soon after a change, also the last one before a pause."""
    one, two = machines
    two.start_link()
    for number in range(3):
        with one.open() as store:
            publish_message(store, NewMessage(f"m{number}", "x", ts_ms=number, sender="hq"))
    for machine in machines:
        log = machine.root / "bus.jsonl"
        wait_until(lambda: log.exists() and '"m2"' in log.read_text(), "the lines")  # noqa: B023
        assert log.read_text().count("\n") == len(("m0", "m1", "m2"))


@pytest.mark.parametrize(
    ("point", "names"), [("fleet-before-commit", []), ("fleet-after-commit", ["auth"])]
)
def test_a_link_that_is_killed_around_the_commit(
    machines: list[Machine], point: str, names: list[str]
) -> None:
    """The transaction is there once on every machine or nowhere, and its command knows which."""
    one, _ = machines
    one.start_link(GITWORKER_CRASH_AT=point)
    with one.open() as store:
        refused = ""
        try:
            write_both(store, "auth")
        except Conflict as error:
            refused = error.code
        assert refused == ("" if names else LOST)
        require_everywhere(machines, *names)
        assert find_tip(store, MAIN) == (Oid("auth") if names else None)
        write_both(store, "docs")
    require_everywhere(machines, *names, "docs")
    assert tip_of(one) == "docs"


def test_a_link_that_is_killed_before_the_replica_has_the_change(
    machines: list[Machine], door: Door
) -> None:
    """A kill -9 while the link waits to write to the replica loses nothing."""
    one, _ = machines
    one.start_link()
    gate = WriteGate(f"{one.path}-gate")
    begun, free = threading.Event(), threading.Event()

    def hold() -> None:
        begun.wait(30)
        with gate:
            free.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    outcome: list[BaseException | None] = []

    def write() -> None:
        try:
            with one.open() as store:
                write_both(store, "auth", last=begun.set)
            outcome.append(None)
        except Unavailable as error:
            outcome.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with psql(door.location) as connection:
            asked = "SELECT COUNT(*) FROM workers"
            wait_until(lambda: connection.execute(asked).fetchall() == [(1,)], "the commit")
        one.kill_link()
    finally:
        free.set()
        holder.join()
        writer.join()
    require_everywhere(machines, "auth")
    assert tip_of(one) == "auth"


def test_a_link_that_is_killed_while_a_command_writes(machines: list[Machine]) -> None:
    """A transaction whose link was killed before its end is nowhere, and the next one works."""
    one, _ = machines
    with one.open() as store:
        with pytest.raises(Conflict) as caught:
            write_both(store, "auth", last=one.kill_link)
        assert caught.value.code == LOST
        assert all_tips(store) == {}
        write_both(store, "docs")
    require_everywhere(machines, "docs")


def test_a_link_that_starts_is_waited_for(machines: list[Machine]) -> None:
    """Commands start no second link beside one that starts, and one in its place if it is dead."""
    one, _ = machines
    one.kill_link()
    done = threading.Event()

    def write() -> None:
        with one.open() as store:
            write_both(store, "auth")
        done.set()

    with open(one.root / "locks" / "link", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        writer = threading.Thread(target=write)
        writer.start()
        seen = {one.link_pid() for _ in range(20) if not done.wait(0.05)}
    assert seen == {None}
    assert done.wait(30)
    writer.join()
    require_everywhere(machines, "auth")


def test_a_command_that_is_killed_while_it_holds_the_lock(machines: list[Machine]) -> None:
    """The fleet's lock is free as soon as its holder is dead, and nothing of it is left."""
    one, two = machines
    held = subprocess.Popen(
        [sys.executable, "-c", HOLDER, one.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert held.stdout is not None
    assert held.stdout.readline() == b"holds\n"
    done = threading.Event()

    def write() -> None:
        with two.open() as store:
            write_both(store, "auth")
        done.set()

    other = threading.Thread(target=write)
    other.start()
    assert not done.wait(0.3)
    held.send_signal(signal.SIGKILL)
    held.communicate()
    assert done.wait(30)
    other.join()
    require_everywhere(machines, "auth")


def test_a_connection_that_is_lost_during_a_transaction(
    machines: list[Machine], door: Door
) -> None:
    """A transaction whose connection ends before its commit is refused, and nowhere."""
    one, _ = machines
    with one.open() as store:
        with pytest.raises((Conflict, Unavailable)) as caught:
            write_both(store, "auth", last=door.end_connections)
        assert "connection to the fleet was lost" in caught.value.message
        assert all_tips(store) == {}
        write_both(store, "docs")
    require_everywhere(machines, "docs")


def send(store: Store, *numbers: int) -> None:
    """Send messages as a hot verb does, which never waits for the network."""
    for number in numbers:
        publish_message(store, NewMessage(f"m{number}", "x", ts_ms=number, sender="hq"))
        serve_fleet(store)


def published(machine: Machine) -> list[str]:
    """Return the messages in a replica, in their order."""
    return [id for (id,) in machine.query("SELECT id FROM messages ORDER BY seq")]


@pytest.mark.parametrize("point", ["", "outbox-before-commit", "outbox-after-commit"])
def test_hot_messages_are_published_once(machines: list[Machine], point: str) -> None:
    """Messages of hot verbs arrive everywhere once and in order, also if their link is killed."""
    one, two = machines
    two.start_link()
    one.start_link(**({"GITWORKER_CRASH_AT": point} if point else {}))
    wanted = [f"m{number}" for number in range(20)]
    with closing(open_hot_store(one.path)) as store:
        send(store, *range(10))
        if point:
            one.wait_link_ended()
        send(store, *range(10, 20), 3)  # the last is a retry
    for machine in (one, two):
        wait_until(lambda: len(published(machine)) >= len(wanted), "all messages")  # noqa: B023
        assert published(machine) == wanted
    wait_until(lambda: one.query("SELECT * FROM fleet_outbox") == [], "an empty outbox")
    assert published(one) == wanted


def test_without_the_server(machines: list[Machine], door: Door) -> None:
    """Without the server shared writes are refused and all else works, until it is there again."""
    one, two = machines
    with one.open() as store:
        write_both(store, "auth")
        two.sync()
        door.shut()
        with pytest.raises(Unavailable) as caught:
            write_both(store, "lost")
        assert caught.value.code == UNREACHABLE
        assert find_tip(store, MAIN) == "auth"
        with store.write() as writer:
            set_tip(writer, MAIN, Oid("own"), now=1)
        assert find_tip(store, MAIN) == "own"
        assert [one.worker_id for one in all_workers(store)] == ["auth"]
        with closing(open_hot_store(one.path)) as hot:
            send(hot, 1, 2)
        assert newest_seq(store) == 0
        door.open()
        wait_until(lambda: writes(store, "docs"), f"the server, {RETRY_MS} ms after it")
        wait_until(lambda: published(one) == ["m1", "m2"], f"messages, {FRESH_MS} ms later")
    require_everywhere(machines, "auth", "docs")
    assert published(two) == ["m1", "m2"]


def writes(store: Store, name: str) -> bool:
    """Write, and return whether that was possible."""
    try:
        write_both(store, name)
    except Unavailable:
        return False
    return True


def test_the_socket_is_its_owners(machines: list[Machine]) -> None:
    """Only the user of the repository reaches the link."""
    one, _ = machines
    one.start_link()
    assert os.stat(one.root / SOCKET).st_mode & 0o077 == 0


def test_a_text_that_postgresql_cannot_store(machines: list[Machine]) -> None:
    """A text with a NUL byte is refused as invalid, and the link goes on."""
    one, _ = machines
    with one.open() as store:
        with pytest.raises(Invalid):
            write_both(store, "a\0b")
        write_both(store, "auth")
    require_everywhere(machines, "auth")


def test_a_request_of_a_later_version(machines: list[Machine]) -> None:
    """A link that does not know a request says so at once, instead of leaving it unanswered."""
    one, _ = machines
    one.start_link()
    with closing(connect_link(str(one.root))) as link:
        link.sendall(b'{"do": "dance"}\n')
        answer = json.loads(link.recv(1 << 16))
    assert "this link to the fleet is older than 'dance'" in json.dumps(answer)
