"""The hints of commands in a fleet help; each test ends with the command that prints one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.store.messages.mailbox import NewMessage, publish_message
from gitworker.store.records.tips import forget_tips
from tests.cli.kit import ok, run
from tests.hints.following import note
from tests.store.machines import Machine, psql
from tests.workers.world import World, wait_until


@pytest.fixture
def machine(world: World) -> Iterator[Machine]:
    """The repository as a machine, whose link ends with the test."""
    world.session()
    made = Machine(world.state_dir)
    yield made
    made.kill_link()


def join(world: World, location: str, name: str = "one") -> None:
    """Join a fleet."""
    ok(world.root, "fleet", "join", location, "--name", name)


def add_other_machine(place: Path, location: str) -> None:
    """Let another machine join, which has state of its own."""
    other = Machine(place)
    other.join(location, "other")
    with other.open() as store:
        publish_message(store, NewMessage("a", "x-note", ts_ms=1, sender="hq"))
    other.kill_link()


def move_worker(world: World, location: str, worker: str = "auth") -> None:
    """Let another machine have taken a worker over."""
    with psql(location) as connection:
        connection.execute(b"UPDATE workers SET machine = 'beta' WHERE worker_id = %s", [worker])
    wait_until(lambda: world.query("SELECT machine FROM workers") == [("beta",)])


def add_remote(world: World, tmp_path: Path) -> Path:
    """Add a remote that has the target."""
    remote = tmp_path / "remote.git"
    world.git("init", "-q", "--bare", str(remote))
    world.git("remote", "add", "origin", str(remote))
    world.git("push", "-q", "origin", "main")
    return remote


def test_in_another_fleet(world: World, machine: Machine, location: str) -> None:
    """A machine leaves its fleet before it joins another one."""
    join(world, location)
    assert "of another fleet" in run(world.root, "fleet", "join", f"{location}x").err


def test_a_worker_with_a_task(
    world: World, machine: Machine, location: str, tmp_path: Path
) -> None:
    """A machine with open work does not join a fleet that has state."""
    add_other_machine(tmp_path / "other", location)
    world.spawn("auth", "login")
    assert "has a task here" in run(world.root, "fleet", "join", location, "--name", "one").err


def test_an_open_task(world: World, machine: Machine, location: str, tmp_path: Path) -> None:
    """A machine with an open task does not join a fleet that has state."""
    add_other_machine(tmp_path / "other", location)
    ok(world.root, "task", "add", "login", "-m", "Build it")
    assert "is open here" in run(world.root, "fleet", "join", location, "--name", "one").err


def test_agents_run(world: World, machine: Machine, location: str) -> None:
    """A machine does not join while its agents run."""
    world.spawn("auth", "login")
    ok(world.root, "exec", "auth", "-d", "--", "sleep", "60")
    assert "agents run here" in run(world.root, "fleet", "join", location, "--name", "one").err


def test_leave_with_a_task(world: World, machine: Machine, location: str, tmp_path: Path) -> None:
    """A machine with open work does not leave while others stay."""
    join(world, location)
    add_other_machine(tmp_path / "other", location)
    world.spawn("auth", "login")
    assert "has a task" in run(world.root, "fleet", "leave").err


def test_a_name_that_is_taken(
    world: World, machine: Machine, location: str, tmp_path: Path
) -> None:
    """The name of a machine that is connected is taken."""
    add_other_machine(tmp_path / "other", location)
    refused = run(world.root, "fleet", "join", location, "--name", "other")
    hint = f"git worker fleet join '{location}' --name <new-name>"
    assert "has a machine other" in refused.err
    assert f"hint: {hint}" in refused.err
    join(world, location, "renamed")
    note(hint, refused.err)


def test_a_worktree_on_another_machine(world: World, machine: Machine, location: str) -> None:
    """A command that needs the worktree names the machine."""
    join(world, location)
    world.spawn("auth", "login")
    move_worker(world, location)
    assert "is on the machine beta" in run(world.root, "path", "auth").err


def test_at_work_on_another_machine(world: World, machine: Machine, location: str) -> None:
    """A worker whose agent reports signs of life is not taken over."""
    join(world, location)
    world.spawn("auth", "login")
    ok(world.root, "exec", "auth", "-d", "--", "sleep", "60")
    wait_until(lambda: world.query("SELECT COUNT(*) FROM heartbeats") != [(0,)])
    move_worker(world, location)
    assert "at work on the machine beta" in run(world.root, "resume", "auth").err


def test_no_remote(world: World, machine: Machine, location: str, tmp_path: Path) -> None:
    """Without a remote, work of another machine cannot be fetched."""
    join(world, location)
    world.in_review("auth", "login", {"a": "1\n"})
    move_worker(world, location)
    assert "no remote is set" in run(world.root, "approve", "auth").err
    remote = add_remote(world, tmp_path)
    world.git("push", "-q", str(remote), "auth/login")


def test_doctor_without_a_remote(
    world: World, machine: Machine, location: str, tmp_path: Path
) -> None:
    """Doctor reports a machine that has two remotes and uses none."""
    join(world, location)
    remote = add_remote(world, tmp_path)
    world.git("remote", "add", "other", str(remote))
    assert "no remote is set" in run(world.root, "doctor").out


def test_entries_that_the_server_lost(
    world: World, machine: Machine, location: str, tmp_path: Path
) -> None:
    """Doctor names the copy of what the server has lost until it is deleted."""
    join(world, location)
    add_remote(world, tmp_path)
    copy = world.state_dir / "bus.db.before-restart-1"
    copy.write_text("")
    assert str(copy) in run(world.root, "doctor").out


def test_not_pushed(world: World, machine: Machine, location: str, tmp_path: Path) -> None:
    """A branch that was never pushed cannot be fetched."""
    join(world, location)
    world.spawn("auth", "login")
    add_remote(world, tmp_path)
    move_worker(world, location)
    assert "has not pushed" in run(world.root, "diff", "auth").err


def test_taking_over_what_was_not_pushed(
    world: World, machine: Machine, location: str, tmp_path: Path
) -> None:
    """A worker whose branch was never pushed cannot be taken over; it can be cancelled here."""
    join(world, location)
    world.spawn("auth", "login")
    add_remote(world, tmp_path)
    move_worker(world, location)
    assert "its commits are there only" in run(world.root, "resume", "auth").err


def test_a_branch_of_the_same_name(
    world: World, machine: Machine, location: str, tmp_path: Path
) -> None:
    """A branch that a person has moved here is not replaced by that of another machine."""
    join(world, location)
    world.spawn("auth", "login")
    add_remote(world, tmp_path)
    world.git("push", "-q", "origin", "auth/login")
    place = world.worker("auth").worktree
    move_worker(world, location)
    world.git("worktree", "remove", "--force", str(place))
    commit = world.git("commit-tree", "-p", "main", "-m", "mine", "main^{tree}")
    world.git("branch", "-f", "auth/login", str(commit).strip())
    assert "is not the branch of auth" in run(world.root, "diff", "auth").err


def test_a_copy_that_was_not_recorded(
    world: World, machine: Machine, location: str, tmp_path: Path
) -> None:
    """A copy of a branch follows the remote, also if its fetch was killed before the record."""
    join(world, location)
    world.spawn("auth", "login")
    remote = add_remote(world, tmp_path)
    world.git("push", "-q", "origin", "auth/login")
    place = world.worker("auth").worktree
    move_worker(world, location)
    world.git("worktree", "remove", "--force", str(place))
    world.git("branch", "-D", "auth/login")
    ok(world.root, "diff", "auth")
    with world.session().store.write_own() as writer:
        forget_tips(writer, "refs/heads/auth/login")
    commit = world.git("commit-tree", "-p", "main", "-m", "theirs", "main^{tree}")
    world.git("push", "-q", str(remote), f"{commit}:refs/heads/auth/login")
    ok(world.root, "diff", "auth")
    assert world.tip("auth/login") == commit


def test_a_push_that_fails(world: World, machine: Machine, location: str, tmp_path: Path) -> None:
    """Work is handed in although it cannot be pushed, with the command that pushes it."""
    join(world, location)
    remote = add_remote(world, tmp_path)
    world.spawn("auth", "login")
    world.commit("auth", {"a": "1\n"})
    remote.rename(tmp_path / "away")
    done = run(world.root, "done", "auth")
    assert done.status == 0
    assert "cannot fetch the work yet" in done.err
    (tmp_path / "away").rename(remote)
