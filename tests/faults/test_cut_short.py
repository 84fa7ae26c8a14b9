"""A fault while git writes a file of a checkout: the file is old or new afterwards, never half."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.inventory import take
from tests.crash.operations import Operation
from tests.faults.harness import Fault, Injector, find_call
from tests.faults.operations import IN_MAIN, PLACE, WRITING
from tests.faults.oracle import require_recovered
from tests.workers.world import World

pytestmark = [pytest.mark.slow, pytest.mark.faults]
FAULTS = (Fault("TREE"), Fault("KILL"), Fault("ENOSPC", lasts=True), Fault("EIO", lasts=True))
FILES = (PLACE, "crlf.txt")

Prepare = Callable[[Operation], World]


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize("verb", WRITING)
def test_a_file_cut_short(
    prepared: Prepare, injector: Injector, verb: str, fault: Fault, path: str
) -> None:
    """The next commands bring the file to one of its two versions, by every verb alike."""
    operation = WRITING[verb]
    world = prepared(operation)
    file = place_of(world, verb) / path
    where = operation.directory(world)
    calls = injector.run(world, *operation.words, fault=fault, under=file, cwd=where).calls
    world = prepared(operation)
    before = take(world)
    at = find_call(calls, "write")
    done = injector.run(world, *operation.words, fault=fault, at=at, under=file, cwd=where)
    assert done.was_hit
    assert done.status != 70, done.err
    require_recovered(world, operation, before, again=False)


def place_of(world: World, verb: str) -> Path:
    """Return the checkout that the verb moves."""
    return world.root if verb in IN_MAIN else world.path("auth")


def test_a_command_may_come_between(prepared: Prepare, injector: Injector) -> None:
    """If the disk is full for the next commands too, they fail and the one after repairs."""
    operation = WRITING["approve"]
    world = prepared(operation)
    file = world.path("auth") / PLACE
    at = find_call(injector.run(world, *operation.words, under=file).calls, "write")
    world = prepared(operation)
    before = take(world)
    full = Fault("ENOSPC", lasts=True)
    injector.run(world, *operation.words, fault=Fault("TREE"), at=at, under=file)
    for number in (1, 20, 40):
        done = injector.run(world, "recover", fault=full, at=number)
        assert done.status != 70, done.err
    require_recovered(world, operation, before, again=False)
