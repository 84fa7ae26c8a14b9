"""A branch that `adopt` renames keeps its reflog, wherever git is killed in the rename."""

import os
from collections.abc import Callable

import pytest

from fixtures.repos import Repo
from tests.crash.operations import Operation
from tests.faults.harness import Fault, Injector, plainly
from tests.faults.oracle import left_locks
from tests.workers.world import World

pytestmark = [pytest.mark.slow, pytest.mark.faults]
# Every call if there is time for it; else some of them.
STRIDE = 1 if float(os.environ.get("GITWORKER_TEST_SCALE", "1")) > 1 else 4
ADOPT = ("adopt", "--rename", "idle", "auth", "login")


def with_history(world: World) -> None:
    """A branch of the user's whose reflog has entries that no commit shows."""
    world.git("branch", "idle")
    place = world.root.parent / "by-hand"
    world.git("worktree", "add", str(place), "idle")
    for number in range(3):
        Repo(place).commit(f"Entry {number}", {"f": f"{number}\n"})
    world.git("reset", "--hard", "HEAD~2", cwd=place)
    world.session()


def adopted(world: World) -> None:
    """The same, adopted."""
    with_history(world)
    world.drive("adopt", "idle", "auth", "login")


OPERATIONS = (
    Operation("log-of-adopt", with_history, ADOPT, (), ("ASSIGNED", "ASSIGNED")),
    Operation("log-of-undo", adopted, ("undo",), (), ("IDLE", "READY")),
)


def reflog(world: World) -> list[str]:
    """Return the reflog of the branch under its present name."""
    name = "idle" if "refs/heads/idle" in world.refs() else "auth/login"
    return world.git("reflog", "show", "--format=%H %gs", name).splitlines()


@pytest.mark.parametrize("kind", ["KILL", "TREE"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=[operation.name for operation in OPERATIONS])
def test_killed_in_the_rename(
    prepared: Callable[[Operation], World], injector: Injector, operation: Operation, kind: str
) -> None:
    """Killed at a call of the rename, no entry of the reflog is lost."""
    calls = injector.run(prepared(operation), *operation.words, fault=Fault(kind), at=0).calls
    moving = [number for number, call in enumerate(calls, 1) if "logs/refs/" in call]
    assert moving, calls
    first = moving[0] - 2 + (kind == "TREE")
    for at in range(first, moving[-1] + 4, STRIDE):
        world = prepared(operation)
        before = reflog(world)
        done = injector.run(world, *operation.words, fault=Fault(kind), at=at)
        assert done.was_hit
        for lock in left_locks(world):
            os.unlink(lock)
        assert plainly(world, "recover").status == 0
        kept = reflog(world)
        assert [entry for entry in kept if entry in before] == before, (calls[at - 1], kept)
        assert not [*world.state_dir.glob("reflog-of-adopt-*")], calls[at - 1]
        assert world.query("SELECT kind FROM operations WHERE status = 'open'") == []
        world.require_sound()
