"""A fault at any mutating call of any command loses nothing, and the next commands repair it."""

import os
import random
from collections.abc import Callable

import pytest

from tests.crash.inventory import take
from tests.crash.operations import Operation
from tests.faults.harness import Fault, Injector
from tests.faults.operations import EVERY, ONCE, spared
from tests.faults.oracle import require_recovered
from tests.workers.world import World

SCALE = float(os.environ.get("GITWORKER_TEST_SCALE", "1"))
POINTS = max(1, round(2 * SCALE))
FAULTS = (
    Fault("ENOSPC"), Fault("ENOSPC", lasts=True), Fault("EDQUOT", lasts=True), Fault("EIO"),
    Fault("EIO", lasts=True), Fault("EROFS", lasts=True), Fault("KILL"), Fault("TREE"),
    Fault("INT"), Fault("TERM"),
)  # fmt: skip

Prepare = Callable[[Operation], World]


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("operation", EVERY, ids=[operation.name for operation in EVERY])
def test_any_call(prepared: Prepare, injector: Injector, operation: Operation) -> None:
    """A call that fails, or a kill there, leaves a repository that the next commands repair."""
    chance = random.Random(f"{operation.name} {os.environ.get('FAULTS_SEED', '')}")
    counts: dict[str, int] = {}
    for _ in range(POINTS):
        fault = chance.choice(FAULTS)
        world = prepared(operation)
        if fault.kind not in counts:
            done = injector.run(
                world, *operation.words, fault=fault, cwd=operation.directory(world)
            )
            assert done.status in (0, 1, 3), done.err
            counts[fault.kind] = len(done.calls)
            world = prepared(operation)
        at = chance.randint(1, counts[fault.kind])
        before = spared(operation, take(world))
        done = injector.run(
            world, *operation.words, fault=fault, at=at, cwd=operation.directory(world)
        )
        met = next((call for call in done.calls if "!" in call.split()[0]), "none")
        try:
            assert done.status != 70, (done.out, done.err)
            again = chance.random() < 0.5 and operation.name not in ONCE
            require_recovered(world, operation, before, again=again)
        except AssertionError as error:
            raise AssertionError(f"{operation.name} {fault} at {at}: {met}\n{done.err}") from error
