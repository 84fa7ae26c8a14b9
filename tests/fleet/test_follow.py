"""A machine brings its files to what other machines have recorded."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gitworker.fleet.follow import follow
from gitworker.link.connection import FleetConnection
from gitworker.paths import StatePaths
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.store.messages.transitions import NewTransition, insert_transition
from gitworker.store.workers import find_worker
from gitworker.worktrees.elsewhere import leave_freed_place
from tests.cli.forking import PROGRAM
from tests.cli.kit import ok, run
from tests.fleet.conftest import Door
from tests.store.machines import Machine
from tests.workers.world import World, wait_until

FOLLOWED = (
    "SELECT (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'fleet_followed')"
    " = (SELECT MAX(seq) FROM transitions)"
)


@pytest.fixture
def missed(world: World, door: Door, tmp_path: Path) -> Iterator[World]:
    """A machine whose link was killed between another machine's change and the job for it."""
    world.session()
    ok(world.root, "fleet", "join", door.location, "--name", "one")
    world.spawn("auth", "login")
    other, here = Machine(tmp_path / "two"), Machine(world.state_dir)
    other.join(door.location, "two")
    wait_until(lambda: world.query(FOLLOWED) == [(1,)])
    here.kill_link()
    ((version, state),) = world.query("SELECT version, state FROM workers")
    assert (state, shown(world)) == ("ASSIGNED", "ASSIGNED")
    failed = NewTransition(
        "worker", "auth", int(str(version)) + 1, "ASSIGNED", "setup_failed", "FAILED", 5, "two",
        metadata="{}", lines="[]",
    )  # fmt: skip
    with other.open() as store, store.write() as writer:
        insert_transition(writer, failed)
    with closing(FleetConnection(StatePaths(str(world.state_dir)))) as connection:
        connection.catch_up(fresh=True)
    yield world
    here.kill_link()
    other.kill_link()


def shown(world: World) -> str:
    """Return the state in the worker's file."""
    return str(json.loads((world.state_dir / "workers" / "auth.json").read_text())["state"])


def test_what_a_killed_link_left_is_followed(missed: World) -> None:
    """The next link starts the job, and fsck does not call the files wrong before."""
    assert missed.query("SELECT state FROM workers") == [("FAILED",)]
    assert missed.query(FOLLOWED) == [(0,)]
    assert "view_wrong" not in run(missed.root, "fsck").out
    Machine(missed.state_dir).start_link()
    wait_until(lambda: missed.query(FOLLOWED) == [(1,)])


def test_one_job_follows_at_a_time(missed: World) -> None:
    """A job that finds another one at work ends at once, and leaves the work to it."""
    session = missed.session()
    with hold(f"{session.paths.locks}/follow", name="follow"):
        follow(session)
        assert missed.query(FOLLOWED) == [(0,)]
    follow(session)
    assert missed.query(FOLLOWED) == [(1,)]


def test_a_worktree_that_is_new_again_stays(missed: World) -> None:
    """A job that read the end of a task leaves the worktree of a task that came since."""
    session = missed.session()
    with session.store.read() as reader:
        ended = find_worker(reader, "auth")
    assert ended is not None
    assert ended.worktree is not None
    leave_freed_place(session, ended._replace(task_id=None))
    assert os.path.isdir(ended.worktree)
    wait_until(lambda: missed.query(FOLLOWED) == [(1,)])


def test_own_changes_are_followed_at_once(missed: World) -> None:
    """A change of this machine needs no job, unless one of others waits for it."""
    ok(missed.root, "status")
    wait_until(lambda: missed.query(FOLLOWED) == [(1,)])
    missed.spawn("docs", "pages")
    assert missed.query(FOLLOWED) == [(1,)]
    assert os.path.exists(missed.state_dir / "workers" / "docs.json")


def test_a_wrong_file_of_this_machine_is_found(missed: World) -> None:
    """The file of a worker that no other machine has changed is compared as ever."""
    missed.spawn("docs", "pages")
    wait_until(lambda: missed.query(FOLLOWED) == [(1,)])
    (missed.state_dir / "workers" / "docs.json").write_text('{"state": "IDLE"}')
    assert "view_wrong" in run(missed.root, "fsck").out


def test_what_a_killed_command_left_is_followed(world: World, location: str) -> None:
    """The link brings the files of workers up to date with the logs, before which they come."""
    world.session()
    ok(world.root, "fleet", "join", location, "--name", "one")
    here = Machine(world.state_dir)
    here.start_link()
    env = {**os.environ, "GITWORKER_CRASH_AT": "spawn.recorded"}
    words = [str(PROGRAM), "spawn", "auth", "login"]
    assert subprocess.run(words, cwd=world.root, env=env, check=False).returncode == -9
    log = world.state_dir / "transitions.jsonl"
    wait_until(lambda: log.exists() and "auth" in log.read_text())
    assert shown(world) == "ASSIGNED"
    ok(world.root, "fsck")
    here.kill_link()
