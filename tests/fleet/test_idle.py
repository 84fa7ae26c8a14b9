"""When the link of a machine is needed, and when it ends."""

import os
import signal
import socket
from contextlib import closing

from gitworker.link.connection import FleetConnection
from gitworker.link.serve import Link
from gitworker.model.ids import Oid, Ref
from gitworker.paths import StatePaths
from gitworker.store.records.tips import set_tip
from tests.cli.kit import ok
from tests.fleet.conftest import Door
from tests.store.machines import Machine
from tests.workers.world import World, wait_until

RUNS = "SELECT supervisor_pid, pid FROM runs WHERE ended_at_ms IS NULL"


def test_a_link_without_the_fleet_sleeps(world: World, door: Door) -> None:
    """A change here wakes the link once, not again and again until the fleet can be reached."""
    world.session()
    ok(world.root, "fleet", "join", door.location, "--name", "one")
    Machine(world.state_dir).kill_link()
    paths = StatePaths(str(world.state_dir))
    with socket.socket(socket.AF_UNIX) as listener, closing(Link(paths, listener)) as link:
        listener.bind("")  # a name of the kernel's choice
        listener.listen()
        door.shut()
        with world.session().store.write_own() as writer:
            set_tip(writer, Ref("refs/heads/x"), Oid("x"), now=1)
        wait_until(lambda: link._selector.select(0))
        link._tend()
        assert link._selector.select(0) == []
    door.open()


def test_a_killed_run_needs_no_link(world: World, location: str) -> None:
    """A link reports the heartbeats of an agent that runs, and ends if it was killed."""
    world.session()
    world.spawn("auth", "login")
    ok(world.root, "fleet", "join", location, "--name", "one")
    ok(world.root, "exec", "auth", "-d", "--", "sleep", "60")
    with closing(FleetConnection(StatePaths(str(world.state_dir)))) as connection:
        assert connection.has_work()
        for pid in (pid for run in world.query(RUNS) for pid in run):
            os.kill(int(str(pid)), signal.SIGKILL)
        wait_until(lambda: not connection.has_work())
        assert len(world.query(RUNS)) == 1
    ok(world.root, "fleet", "leave")
