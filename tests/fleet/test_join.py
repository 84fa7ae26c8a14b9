"""Join a fleet: a kill at any point, open work, and everything that is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.store.messages.mailbox import NewMessage, publish_message
from gitworker.store.postgres.migrations import MIGRATIONS
from gitworker.store.sqlite.migrate import SCHEMA_VERSION
from tests.cli.kit import Answer, ok, run
from tests.cli.stages import OF_TASKS, OF_WORKERS
from tests.store.machines import Machine, psql
from tests.workers.world import World

POINTS = ("fleet-join-before-commit", "fleet-join-after-commit")
# What a fleet adds to a repository: its place in the fleet, and the machine of a worktree.
OF_THE_FLEET = {"meta", "machines", "fleet_outbox"}
READING = "options=-c%20default_transaction_read_only%3Don"


@pytest.fixture
def machine(world: World) -> Iterator[Machine]:
    """The repository as a machine, whose link ends with the test."""
    world.session()
    made = Machine(world.state_dir)
    yield made
    made.kill_link()


def rows_of(world: World) -> dict[str, list[dict[str, object]]]:
    """Return all rows but those that a fleet adds."""
    found = {}
    for table in world.rows():
        if table in OF_THE_FLEET:
            continue
        names = [name for (name,) in world.query(f"SELECT name FROM pragma_table_info('{table}')")]
        rows = [dict(zip(names, row, strict=True)) for row in world.query(f"SELECT * FROM {table}")]
        for row in rows:
            if table == "workers":
                row.pop("machine")
        found[table] = sorted(rows, key=repr)
    return found


def place_of(world: World) -> list[tuple[object, ...]]:
    """Return the fleet of a repository, if any."""
    return world.query(
        "SELECT key, value FROM meta WHERE key LIKE 'fleet%' AND key <> 'fleet_joining'"
        " UNION ALL SELECT name, '' FROM sqlite_schema WHERE name LIKE 'fleet_guard%'"
    )


def join(world: World, location: str, name: str = "one", **env: str) -> Answer:
    """Run `fleet join`."""
    return run(world.root, "fleet", "join", location, "--name", name, env=env)


def test_work_in_every_state_is_kept(world: World, machine: Machine, location: str) -> None:
    """After joining and leaving every row is there as it was, whatever state its work was in."""
    for number, stage in enumerate(OF_WORKERS):
        stage(world, f"w{number}", f"t{number}")
    for name, task_stage in OF_TASKS.items():
        task_stage(world, f"of-{name.lower().replace('_', '-')}", f"k-{name.lower()}")
    world.session()
    before = rows_of(world)
    joined = join(world, location)
    assert joined.status == 0, joined
    assert rows_of(world) == before
    assert {
        name for (name,) in world.query("SELECT machine FROM workers WHERE worktree != ''")
    } == {"one"}
    with psql(location) as connection:
        for table in machine.shared_columns():
            (count,) = connection.execute(f"SELECT COUNT(*) FROM {table}".encode()).fetchone() or ()
            assert count == world.query(f"SELECT COUNT(*) FROM {table}")[0][0]
    machine.leave()  # without the command's check of overdue workers, which changes one of them
    assert rows_of(world) == before


@pytest.mark.parametrize("point", POINTS)
def test_killed(world: World, machine: Machine, location: str, point: str) -> None:
    """After a kill the same command joins, with all rows and with what was done meanwhile."""
    world.in_review("auth", "login", {"a": "1\n"})
    before = rows_of(world)
    killed = join(world, location, GITWORKER_CRASH_AT=point)
    assert killed.status in (-9, 137), killed
    assert rows_of(world) == before
    ok(world.root, "task", "add", "later", "-m", "Build it")
    before = rows_of(world)
    again = join(world, location)
    assert again.status == 0, again
    assert rows_of(world) == before
    world.approve("auth")
    assert world.states("auth", "login")[0] == "APPROVED"
    machine.sync()
    with psql(location) as connection:
        found = connection.execute("SELECT id FROM tasks ORDER BY id").fetchall()
        assert connection.execute("SELECT COUNT(*) FROM machines").fetchall() == [(1,)]
    assert found == [("later",), ("login",)]


@pytest.mark.parametrize("point", POINTS)
def test_a_second_machine_that_is_killed(
    world: World, machine: Machine, tmp_path: Path, location: str, point: str
) -> None:
    """After a kill the same command takes over what the fleet has."""
    first = Machine(tmp_path / "first")
    first.join(location, "first")
    with first.open() as store:
        publish_message(store, NewMessage("a", "x", ts_ms=1, sender="hq"))
    assert join(world, location, GITWORKER_CRASH_AT=point).status in (-9, 137)
    with first.open() as store:
        publish_message(store, NewMessage("b", "x", ts_ms=1, sender="hq"))
    again = join(world, location)
    assert again.status == 0, again
    machine.sync()
    first.sync()
    first.kill_link()
    assert world.query("SELECT id FROM messages ORDER BY seq")[-2:] == [("a",), ("b",)]
    assert machine.query("SELECT id FROM machines ORDER BY id") == [("first",), ("one",)]


def writing_machine(tmp_path: Path, location: str, name: str) -> Machine:
    """Return another machine that has joined and published a message."""
    other = Machine(tmp_path / "other")
    other.join(location, name)
    with other.open() as store:
        publish_message(store, NewMessage("a", "x", ts_ms=1, sender="hq"))
    return other


def test_a_join_that_is_repeated_late(
    world: World, machine: Machine, tmp_path: Path, location: str
) -> None:
    """What other machines wrote after the kill stays, also if they have left meanwhile."""
    killed = join(world, location, GITWORKER_CRASH_AT="fleet-join-after-commit")
    assert killed.status in (-9, 137)
    writing_machine(tmp_path, location, "other").kill_link()
    with psql(location) as connection:
        connection.execute("UPDATE machines SET left_at_ms = 1 WHERE id = 'other'")
    again = join(world, location)
    assert again.status == 0, again
    machine.sync()
    assert ("a",) in world.query("SELECT id FROM messages")
    assert ok(world.root, "fsck")


def test_a_join_whose_name_was_taken(
    world: World, machine: Machine, tmp_path: Path, location: str
) -> None:
    """A machine that joined under the same name after the kill keeps its rows, too."""
    killed = join(world, location, GITWORKER_CRASH_AT="fleet-join-after-commit")
    assert killed.status in (-9, 137)
    with psql(location) as connection:
        connection.execute("UPDATE machines SET lease_until_ms = 0")
    other = writing_machine(tmp_path, location, "one")
    again = join(world, location)
    assert (again.status, "has a machine one" in again.err) == (1, True), again
    other.sync()
    other.kill_link()
    assert other.query("SELECT id FROM messages") == [("a",)]


def test_work_since_a_join_that_was_killed(
    world: World, machine: Machine, tmp_path: Path, location: str
) -> None:
    """A task that was added here meanwhile is not dropped if others have worked."""
    killed = join(world, location, GITWORKER_CRASH_AT="fleet-join-after-commit")
    assert killed.status in (-9, 137)
    writing_machine(tmp_path, location, "other").kill_link()
    ok(world.root, "task", "add", "docs", "-m", "words")
    refused = join(world, location)
    assert "task docs has changed here since this join was interrupted" in refused.err
    ok(world.root, "task", "cancel", "docs")
    assert join(world, location).status == 0


def test_joining_again_changes_nothing(world: World, machine: Machine, location: str) -> None:
    """The same command again is done at once."""
    ok(world.root, "fleet", "join", location, "--name", "one")
    before = rows_of(world)
    ok(world.root, "fleet", "join", location, "--name", "one")
    ok(world.root, "fleet", "join", location)
    assert rows_of(world) == before
    other = join(world, f"{location}-other")
    assert other.status != 0
    assert "another fleet" in other.err


def require_refused(world: World, location: str, text: str, name: str = "one") -> None:
    """Fail unless joining is refused with one message, and nothing has changed."""
    before = rows_of(world), place_of(world)
    answer = join(world, location, name)
    assert answer.status not in (0, 70), answer
    errors = [line for line in answer.err.splitlines() if not line.startswith("hint")]
    assert len(errors) == 1, answer
    assert text in errors[0], answer
    assert "secret" not in answer.out + answer.err
    assert (rows_of(world), place_of(world)) == before


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("/postgres?", "/postgres?password=secret&"), "no password"),
        (("/postgres?", "/postgres?PASSWORD=secret&"), "no password"),
        (("/postgres?", "/postgres?sslpassword=secret&"), "no password"),
        (("/postgres?", "/postgres?pass%77ord=secret&"), "no password"),
        (("///", "//me:secret@localhost/"), "no password"),
        (("///", "//:secret@localhost/"), "no password"),
        (("///", "//me:sec/ret@localhost/"), ""),
        (("postgresql:", "mysql:"), "begins with postgresql://"),
        (("#fleet", f"#{'x' * 64}"), "more than 63 bytes"),
        (("host=/tmp", "host=/missing"), "No such file"),
        (("/postgres?", "/missing?"), 'database "missing" does not exist'),
        (("user=tester", "user=nobody_at_all"), "nobody_at_all"),
        (("/postgres?", f"/postgres?{READING}&"), "only answers reads"),
    ],
)  # fmt: skip
def test_locations_that_are_refused(
    world: World, location: str, change: tuple[str, str], text: str
) -> None:
    """A location that cannot be used has one message, which shows no password."""
    changed = location.replace(*change)
    assert changed != location
    require_refused(world, changed, text)


@pytest.mark.parametrize("name", ["", "-a", "A", "a b", "a/b", "x" * 64, "ä", "a\n"])
def test_names_that_are_refused(world: World, location: str, name: str) -> None:
    """A machine's name has lower-case letters, digits and a few signs."""
    require_refused(world, location, "is not a name of a machine", name)


@pytest.mark.parametrize("version", [MIGRATIONS[0].version - 1, SCHEMA_VERSION + 1])
def test_another_version(world: World, tmp_path: Path, location: str, version: int) -> None:
    """A schema of another version is refused and not changed."""
    first = Machine(tmp_path / "first")
    first.join(location, "first")
    with psql(location) as connection:
        connection.execute(
            "UPDATE meta SET value = %s WHERE key = 'gitworker_schema'", [str(version)]
        )
        before = connection.execute("SELECT * FROM fleet_log").fetchall()
        require_refused(world, location, f"has version {version}")
        assert connection.execute("SELECT * FROM fleet_log").fetchall() == before


def test_a_schema_of_another_program(world: World, location: str) -> None:
    """A schema with other tables is refused and not changed."""
    schema = location.partition("#")[2]
    with psql(location) as connection:
        connection.execute(f'CREATE SCHEMA "{schema}"; CREATE TABLE tasks (id int)'.encode())
        require_refused(world, location, "tables of another program")
        asked = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        assert connection.execute(asked).fetchall() == [("tasks",)]


def test_a_name_that_is_taken(world: World, tmp_path: Path, location: str) -> None:
    """The name of a machine whose lease has not ended is refused."""
    Machine(tmp_path / "first").join(location, "one")
    require_refused(world, location, "the fleet has a machine one")


def test_open_work_beside_that_of_the_fleet(world: World, tmp_path: Path, location: str) -> None:
    """A repository with a task or a worker at work joins no fleet that has its own."""
    Machine(tmp_path / "first").join(location, "first")
    ok(world.root, "task", "add", "login", "-m", "Build it")
    require_refused(world, location, "task login is open here")
    world.spawn("auth", "other")
    require_refused(world, location, "worker auth has a task here")


def test_open_work_under_the_name_of_a_lost_machine(
    world: World, tmp_path: Path, location: str
) -> None:
    """A repository with open work does not replace it, either, by that of a lost machine."""
    Machine(tmp_path / "first").join(location, "one")
    with psql(location) as connection:
        connection.execute("UPDATE machines SET lease_until_ms = 0")
    ok(world.root, "task", "add", "login", "-m", "Build it")
    require_refused(world, location, "task login is open here")
    ok(world.root, "task", "cancel", "login")
    assert join(world, location).status == 0
    Machine(world.state_dir).kill_link()


def test_a_worker_changes_no_fleet(world: World, location: str) -> None:
    """A worker cannot join or leave."""
    before = rows_of(world), place_of(world)
    for words in (["join", location], ["leave"]):
        answer = run(world.root, "--as", "auth", "fleet", *words)
        assert answer.status == 1
        assert "cannot change the fleet" in answer.err
    assert (rows_of(world), place_of(world)) == before
