"""Leave a fleet: the machine keeps what the fleet has, and gets nothing more from it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.store.messages.mailbox import NewMessage, publish_message
from tests.cli.kit import ok, run
from tests.fleet.conftest import Door
from tests.fleet.test_join import rows_of
from tests.store.machines import Machine, fresh_location, psql
from tests.store.support import foreign, wait_until
from tests.workers.world import World

LAST = "after-end"
POINTS = ("before-write", "after-write", "before-end", LAST)


@pytest.fixture
def machine(world: World, door: Door) -> Iterator[Machine]:
    """The repository as the first machine of a fleet, whose link ends with the test."""
    ok(world.root, "fleet", "join", door.location, "--name", "one")
    made = Machine(world.state_dir)
    yield made
    made.kill_link()


@pytest.fixture
def other(machine: Machine, tmp_path: Path, door: Door) -> Iterator[Machine]:
    """Another machine of the fleet."""
    made = Machine(tmp_path / "other")
    made.join(door.location, "other")
    yield made
    made.kill_link()


def test_a_machine_that_has_left_stands_alone(world: World, machine: Machine) -> None:
    """After leaving no guard, no place and no position is left, and other programs may write."""
    ok(world.root, "fleet", "leave")
    assert world.query("SELECT * FROM meta WHERE key LIKE 'fleet%'") == []
    assert world.query("SELECT name FROM sqlite_schema WHERE name LIKE 'fleet_guard%'") == []
    text = "INSERT INTO messages (id, ts_ms, from_agent, type) VALUES ('a', 1, 'hq', 'x')"
    assert foreign(machine.path, text) == [[]]
    again = run(world.root, "fleet", "leave")
    assert (again.status, "in no fleet" in again.err) == (1, True)


def test_no_other_machine_is_left(world: World, machine: Machine, other: Machine) -> None:
    """The machines of a fleet that was left are no members of the next one."""
    ok(world.root, "fleet", "leave")
    assert world.query("SELECT id FROM machines") == []


def test_what_waits_for_the_fleet_comes_first(world: World, machine: Machine, door: Door) -> None:
    """Work that was handed in and messages that were sent without the fleet are not left behind."""
    world.session()
    world.spawn("auth", "login")
    world.commit("auth", {"a": "1\n"})
    ok(world.root, "status")
    door.shut()
    assert "handed in later" in ok(world.root, "done", "auth")
    ok(world.root, "msg", "send", "x-note", "{}", "--to", "hq")
    machine.kill_link()
    door.open()
    ok(world.root, "fleet", "leave")
    assert world.query("SELECT state FROM workers") == [("IN_REVIEW",)]
    assert world.query("SELECT COUNT(*) FROM messages WHERE type = 'x-note'") == [(1,)]
    assert world.query("SELECT COUNT(*) FROM fleet_outbox") == [(0,)]


def kill(world: World, point: str) -> None:
    """Kill the command at a point."""
    killed = run(world.root, "fleet", "leave", env={"GITWORKER_CRASH_AT": f"fleet-leave-{point}"})
    assert killed.status in (-9, 137), killed


def leave_again(world: World, point: str) -> None:
    """Leave after a kill; after the last point the machine has left."""
    again = run(world.root, "fleet", "leave")
    if point == LAST:
        assert (again.status, "in no fleet" in again.err) == (1, True), again
    else:
        assert again.status == 0, again
    assert world.query("SELECT * FROM meta WHERE key LIKE 'fleet%'") == []


@pytest.mark.parametrize("point", POINTS)
def test_killed(world: World, machine: Machine, point: str) -> None:
    """After a kill the same command leaves, with all rows."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.session()
    before = rows_of(world)
    kill(world, point)
    assert rows_of(world) == before
    leave_again(world, point)
    assert rows_of(world) == before
    world.approve("auth")


@pytest.mark.parametrize("point", POINTS)
def test_killed_while_others_stay(
    world: World, machine: Machine, other: Machine, point: str
) -> None:
    """The others go on after a kill, and have the open tasks for themselves when it has left."""
    ok(world.root, "task", "add", "login", "-m", "Build it")
    kill(world, point)
    with other.open() as store:
        publish_message(store, NewMessage("meanwhile", "x", ts_ms=1, sender="hq"))
    leave_again(world, point)
    assert world.query("SELECT held FROM tasks") == [(1,)]
    other.sync()
    assert other.query("SELECT held FROM tasks") == [(0,)]
    left = "SELECT id FROM machines WHERE left_at_ms IS NOT NULL"
    assert other.query(left) == [("one",)]


def test_another_machine_takes_the_name(
    world: World, machine: Machine, other: Machine, door: Door, tmp_path: Path
) -> None:
    """A machine that was killed while it left writes nothing as the one that has its name now."""
    kill(world, "after-write")
    new = Machine(tmp_path / "new")
    new.join(door.location, "one")
    new.kill_link()
    assert "has left the fleet" in run(world.root, "task", "add", "login", "-m", "Build it").err
    other.sync()
    assert other.query("SELECT id FROM tasks") == []
    assert "has left the fleet" in run(world.root, "task", "add", "login", "-m", "Build it").err


@pytest.mark.parametrize(
    ("point", "again"), [("fleet-before-commit", True), ("fleet-after-commit", False)]
)
def test_the_link_is_killed(
    world: World, machine: Machine, other: Machine, point: str, again: bool
) -> None:
    """The command knows whether the fleet has heard of it; if not, it is run again."""
    machine.kill_link()
    machine.start_link(GITWORKER_CRASH_AT=point)
    left = run(world.root, "fleet", "leave")
    if again:
        assert (left.status, "connection to the fleet was lost" in left.err) == (3, True), left
        assert world.query("SELECT value FROM meta WHERE key = 'fleet_machine'") == [("one",)]
        other.sync()
        assert other.query("SELECT id FROM machines WHERE left_at_ms IS NOT NULL") == []
        ok(world.root, "fleet", "leave")
    else:
        assert left.status == 0, left
    assert world.query("SELECT * FROM meta WHERE key LIKE 'fleet%'") == []
    other.sync()
    assert other.query("SELECT id FROM machines WHERE left_at_ms IS NOT NULL") == [("one",)]


def test_the_link_ends(world: World, machine: Machine, other: Machine) -> None:
    """The link of a machine that has left ends at once, and writes nothing more on any side."""
    machine.sync()
    assert machine.link_pid() is not None
    ok(world.root, "fleet", "leave")
    with other.open() as store:
        publish_message(store, NewMessage("after", "x", ts_ms=1, sender="hq"))
    machine.wait_link_ended()
    assert ("after",) not in world.query("SELECT id FROM messages")
    assert world.query("SELECT * FROM meta WHERE key LIKE 'fleet%'") == []


def test_the_next_fleet(world: World, machine: Machine, server: str) -> None:
    """A machine that joins another fleet writes to that one only."""
    first = machine.query("SELECT value FROM meta WHERE key = 'fleet_location'")[0][0]
    machine.sync()
    ok(world.root, "fleet", "leave")
    second = fresh_location(server)
    ok(world.root, "fleet", "join", second, "--name", "one")
    ok(world.root, "task", "add", "login", "-m", "Build it")
    for place, number in ((first, 0), (second, 1)):
        with psql(place) as connection:
            assert connection.execute("SELECT COUNT(*) FROM tasks").fetchall() == [(number,)]


def test_work_stays_with_the_others(world: World, machine: Machine, other: Machine) -> None:
    """A machine with a worker at work stays; open tasks are held by one that leaves."""
    ok(world.root, "task", "add", "login", "-m", "Build it")
    world.spawn("auth", "other")
    refused = run(world.root, "fleet", "leave")
    assert (refused.status, "worker auth" in refused.err) == (1, True)
    ok(world.root, "cancel", "auth")
    ok(world.root, "fleet", "leave")
    assert world.query("SELECT held FROM tasks WHERE id = 'login'") == [(1,)]
    other.sync()
    assert other.query("SELECT held FROM tasks WHERE id = 'login'") == [(0,)]
    assert other.query("SELECT id FROM machines WHERE left_at_ms IS NOT NULL") == [("one",)]


def test_landed_work_keeps_nobody(world: World, machine: Machine, other: Machine) -> None:
    """A machine leaves although its workers still have the tasks that have landed."""
    origin = world.root.parent / "origin.git"
    world.git("clone", "-q", "--bare", ".", str(origin))
    world.git("remote", "add", "origin", str(origin))
    world.approved("auth", "login", {"a": "1\n"})
    ok(world.root, "merge", "auth")
    assert world.query("SELECT state, task_id FROM workers") == [("COMPLETED", "login")]
    ok(world.root, "fleet", "leave")
    assert "login" in ok(world.root, "task", "list", "--all")


def test_without_the_server(world: World, machine: Machine, door: Door) -> None:
    """Nobody leaves without the server, since others would wait for the machine."""
    door.shut()
    refused = run(world.root, "fleet", "leave")
    assert refused.status not in (0, 70), refused
    assert "cannot be reached" in refused.err
    door.open()
    wait_until(lambda: run(world.root, "fleet", "leave").status == 0, "the server")
