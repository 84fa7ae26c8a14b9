"""Many tasks on three machines, whose links are killed, cut and frozen at random."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fleet.machines.machine import Machine
from tests.fleet.machines.work import Work, add_tasks, require_same_end, running

SCALE = int(os.environ.get("GITWORKER_TEST_SCALE", "1"))
SEED = os.environ.get("GITWORKER_TEST_SEED", "1")
TASKS = 24 if SCALE == 1 else 30 * SCALE
LIMIT_S = 600 * SCALE
MESSAGES = 10 * SCALE  # of each machine


@pytest.mark.slow
def test_many_tasks_with_broken_wires(fleet: Callable[..., list[Machine]], tmp_path: Path) -> None:
    """All tasks land once on a linear target, none runs twice at once, and no message is lost."""
    dice = random.Random(f"fleet {SEED}")
    machines = fleet("alpha", "beta", "gamma")
    work = Work(tmp_path)
    tasks = [f"t{number}" for number in range(TASKS)]
    add_tasks(machines[0], tasks)
    began, faults, sent = time.monotonic(), Counter[str](), 0
    with running(work, *machines, options=("-j", "4")) as runs:
        while any(one.poll() is None for one in runs):
            assert time.monotonic() - began < LIMIT_S, "the runs did not end in time"
            one = dice.choice(machines)
            if sent < MESSAGES * len(machines):
                one = machines[sent % len(machines)]
                one.ok("msg", "send", "x-number", str(sent), "--to", "hq")
                sent += 1
            fault = dice.choice(("kill", "cut", "freeze", "none"))
            faults[fault] += 1
            break_wire(one, fault, dice.uniform(0.2, 2))
            signal.sigtimedwait([], dice.uniform(1, 4))
        assert [one.wait() for one in runs] == [0, 0, 0]
    print(f"{TASKS} tasks in {time.monotonic() - began:.0f} s, {dict(faults)}, {sent} messages,")
    print(f"starts {Counter(machine for machine, _ in work.starts())}")
    assert work.broken() == []
    require_same_end(machines, tasks)
    for one in machines:
        found = one.query(
            "SELECT payload, COUNT(*) FROM messages WHERE type = 'x-number' GROUP BY 1"
        )
        assert len(found) == sent
        assert {count for _, count in found} <= {1}


def break_wire(machine: Machine, fault: str, length_s: float) -> None:
    """Kill the link of a machine, or cut or freeze its wire for a short time."""
    if fault == "kill":
        machine.kill_link()
    elif fault != "none":
        (machine.wire.cut if fault == "cut" else machine.wire.freeze)()
        signal.sigtimedwait([], length_s)
        machine.wire.mend()
