"""A role without rights, and a server without connections: one message, and nothing is changed."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.cli.kit import Answer, ok, run
from tests.fleet.test_join import place_of, rows_of
from tests.hints.following import note
from tests.store.machines import Machine, psql
from tests.workers.world import World, wait_until

ROLES = count(1)
RUNS = "hint: an administrator runs: "


class Role:
    """A role of a server, which the administrator of these tests changes."""

    def __init__(self, location: str) -> None:
        self._admin, self.schema = location, location.partition("#")[2]
        self.name = f"guest{next(ROLES)}"
        self.location = location.replace("user=tester", f"user={self.name}")

    def run(self, *texts: str) -> None:
        """Run statements as the administrator; `{me}` is the role, `{schema}` the schema."""
        with psql(self._admin) as connection:
            for text in texts:
                words = text.format(me=self.name, schema=self.schema)
                connection.execute(words.encode())

    def tables(self) -> list[tuple[object, ...]]:
        """Return the tables in the schema, and the log."""
        asked = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1"
        with psql(self._admin) as connection:
            found = connection.execute(asked).fetchall()
            if ("fleet_log",) in found:
                found += connection.execute("SELECT * FROM fleet_log").fetchall()
        return found

    def follow(self, answer: Answer) -> None:
        """Run what a hint says, as the administrator."""
        (line,) = [one for one in answer.err.splitlines() if one.startswith(RUNS)]
        self.run(line.removeprefix(RUNS))


@pytest.fixture
def role(location: str) -> Iterator[Role]:
    """A role that may connect, and nothing else."""
    made = Role(location)
    made.run("CREATE ROLE {me} LOGIN")
    yield made
    made.run("DROP OWNED BY {me} CASCADE", "DROP ROLE {me}")


def first_machine(place: Path, location: str) -> None:
    """Let an administrator's machine make the fleet."""
    made = Machine(place)
    made.join(location, "first")
    made.kill_link()


def test_a_role_that_may_not_make_the_schema(world: World, role: Role) -> None:
    """The hint is what an administrator has to run; then the same command joins."""
    join_after_hint(world, role, f"{role.name} may not make the schema {role.schema}")


def test_a_role_that_may_not_make_tables(world: World, role: Role) -> None:
    """A schema of somebody else is refused, too, until its owner has given rights."""
    role.run('CREATE SCHEMA "{schema}"')
    join_after_hint(world, role, f"{role.name} may not make tables in the schema {role.schema}")


def test_a_role_that_may_only_read(world: World, role: Role, location: str, tmp_path: Path) -> None:
    """A role for dashboards does not join."""
    first_machine(tmp_path / "first", location)
    role.run(
        'GRANT USAGE ON SCHEMA "{schema}" TO {me}',
        'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO {me}',
    )
    join_after_hint(world, role, "permission denied for table machines")


def join_after_hint(world: World, role: Role, text: str) -> None:
    """Fail unless joining is refused, changes nothing, and works after its hint was followed."""
    world.session()
    before = rows_of(world), place_of(world), role.tables()
    refused = run(world.root, "fleet", "join", role.location, "--name", "one")
    assert (refused.status, text in refused.err) == (1, True), refused
    assert len(refused.err.splitlines()) == 2, refused
    assert (rows_of(world), place_of(world), role.tables()) == before
    role.follow(refused)
    ok(world.root, "fleet", "join", role.location, "--name", "one")
    ok(world.root, "fleet", "leave")


@pytest.mark.parametrize(
    "text",
    [
        'REVOKE USAGE ON SCHEMA "{schema}" FROM {me}',
        "REVOKE SELECT ON fleet_log FROM {me}",
        "REVOKE INSERT ON fleet_log FROM {me}",
        "REVOKE INSERT ON tasks FROM {me}",
    ],
)
def test_rights_that_are_taken_away(
    world: World, role: Role, location: str, tmp_path: Path, text: str
) -> None:
    """Commands are refused with what an administrator has to run, and `doctor` says it, too."""
    world.session()
    first_machine(tmp_path / "first", location)
    role.run(
        'GRANT ALL ON SCHEMA "{schema}" TO {me}',
        'GRANT ALL ON ALL TABLES IN SCHEMA "{schema}" TO {me}',
    )
    ok(world.root, "fleet", "join", role.location, "--name", "one")
    before = rows_of(world)
    role.run(text)
    refused = run(world.root, "task", "add", "login", "-m", "words")
    assert refused.status == 1, refused
    assert refused.err.count("error: ") == refused.err.count("hint: ") == 1, refused
    assert rows_of(world) == before
    doctor = run(world.root, "doctor")
    assert "may not read and change" in doctor.out
    assert "GRANT" in doctor.out
    role.follow(refused)
    wait_until(lambda: run(world.root, "task", "add", "login", "-m", "words").status == 0)
    assert "may not read and change" not in run(world.root, "doctor").out
    ok(world.root, "fleet", "leave")


def test_a_server_without_free_connections(world: World, role: Role) -> None:
    """The same command joins as soon as a connection is free."""
    world.session()
    role.run('CREATE SCHEMA "{schema}" AUTHORIZATION {me}', "ALTER ROLE {me} CONNECTION LIMIT 0")
    before = rows_of(world), place_of(world)
    refused = run(world.root, "fleet", "join", role.location)
    assert (rows_of(world), place_of(world)) == before
    assert f'PostgreSQL: too many connections for role "{role.name}"' in refused.err
    hint = f"git worker fleet join '{role.location}'"
    assert f"hint: {hint}" in refused.err
    role.run("ALTER ROLE {me} CONNECTION LIMIT -1")
    ok(world.root, "fleet", "join", role.location)
    note(hint, refused.err)
    ok(world.root, "fleet", "leave")


def test_connections_that_are_used_up_later(world: World, role: Role) -> None:
    """Commands say why the fleet cannot be reached, and work when a connection is free."""
    world.session()
    role.run('CREATE SCHEMA "{schema}" AUTHORIZATION {me}')
    ok(world.root, "fleet", "join", role.location)
    role.run("ALTER ROLE {me} CONNECTION LIMIT 0")
    Machine(world.state_dir).kill_link()
    refused = run(world.root, "task", "add", "login", "-m", "words")
    assert "the fleet cannot be reached: PostgreSQL: too many connections" in refused.err
    assert "too many connections" in run(world.root, "doctor").out
    role.run("ALTER ROLE {me} CONNECTION LIMIT -1")
    wait_until(lambda: run(world.root, "task", "add", "login", "-m", "words").status == 0)
    ok(world.root, "fleet", "leave")
