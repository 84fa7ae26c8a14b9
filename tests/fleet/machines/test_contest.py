"""Processes of several machines contend for the same names."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fleet.machines import contending
from tests.fleet.machines.machine import Machine

SCALE = int(os.environ.get("GITWORKER_TEST_SCALE", "1"))
PROCESSES = 2  # of each machine
ATTEMPTS = 2_000 * SCALE  # of each process
LIMIT_S = 300 * SCALE


@pytest.mark.slow
def test_no_name_has_two_holders(fleet: Callable[..., list[Machine]], tmp_path: Path) -> None:
    """A name that many want has one holder at a time, and each holder has a higher epoch."""
    machines = fleet("alpha", "beta", "gamma")
    witnesses = tmp_path / "witnesses"
    witnesses.mkdir()
    running = [
        one.popen(
            sys.executable, contending.__file__, str(one.state), f"{one.name}-{number}",
            str(ATTEMPTS), str(witnesses), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for one in machines
        for number in range(PROCESSES)
    ]  # fmt: skip
    ended = [one.communicate(timeout=LIMIT_S) for one in running]
    assert [errors.decode() for _, errors in ended if errors] == []
    taken = [int(out) for out, _ in ended]
    print(f"{len(running) * ATTEMPTS} attempts, taken {taken}")
    found = [list(map(int, path.read_text().split())) for path in witnesses.iterdir()]
    assert len(found) == len(contending.NAMES)
    for epochs in found:
        assert epochs == sorted(set(epochs))
    assert sum(taken) == sum(map(len, found))
    assert min(taken) > 0
    for one in machines:
        one.ok("status")  # brings the replica up to date
        assert one.query("SELECT task_id FROM task_claims") == []
