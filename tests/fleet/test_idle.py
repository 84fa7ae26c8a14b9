"""When the link of a machine is needed, and when it ends."""

import os
import signal
from contextlib import closing

from gitworker.link.connection import FleetConnection
from gitworker.paths import StatePaths
from tests.cli.kit import ok
from tests.workers.world import World, wait_until

RUNS = "SELECT supervisor_pid, pid FROM runs WHERE ended_at_ms IS NULL"


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
