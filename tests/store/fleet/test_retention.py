"""Retention in a fleet: a machine does not know what the agents of other machines have read."""

from pathlib import Path

import pytest

from gitworker import clock
from gitworker.bus.files.retention import PruneRequest, plan_prune, prune
from gitworker.bus.files.rules_retention import DAY_MS
from gitworker.paths import StatePaths
from tests.store.machines import Machine, fresh_location, near_links, psql
from tests.store.support import send

SILENT = "UPDATE machines SET seen_at_ms = 1, lease_until_ms = 1 WHERE name = 'two'"


@pytest.mark.parametrize("ended_by", ["leave", "silence"])
def test_messages_stay_while_others_may_read_them(
    tmp_path: Path, server: str, ended_by: str
) -> None:
    """Nothing shared is pruned until the other machine has left, or was silent for that long."""
    location = fresh_location(server)
    one, two = (Machine(tmp_path / name) for name in ("one", "two"))
    now = clock.now_ms()
    request = PruneRequest(now - 30 * DAY_MS, frozenset(), since_ms=now - 30 * DAY_MS)
    with near_links():
        for machine in (one, two):
            machine.join(location, machine.root.name)
        with one.open() as store:
            send(store, "old", ts_ms=now - 40 * DAY_MS)
            done = prune(store, StatePaths(str(one.root)), request)
            assert (done.plan.messages, done.plan.held_by) == (0, f"machine {two_id(two)}")
        if ended_by == "leave":
            two.leave()
        else:
            with psql(location) as connection:
                connection.execute(SILENT)
        one.sync()
        with one.open() as store:
            assert plan_prune(store, request).messages == 1


def two_id(machine: Machine) -> str:
    """Return the id of a machine."""
    with machine.open() as store:
        return str(store.fleet_machine)
