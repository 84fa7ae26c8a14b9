"""The branch of a workstream survives a kill at every step of its landing and of its undo."""

import pytest

from gitworker.fsck.fsck import run_fsck
from gitworker.workstreams.show import read_view
from tests.tasks.test_queue import add
from tests.workers.conftest import world
from tests.workers.world import World

__all__ = ["world"]

KILLED = -9
BEFORE = ("land.replayed", "land.verified", "land.journal")
AFTER = ("forward-merged", "land.forwarded", "land.recorded", "land.deleted")
REF = "refs/heads/ws/login"


def has_landed(world: World) -> bool:
    """Return whether the target has the work, which must agree with the workstream's row."""
    found = world.git("ls-tree", "--name-only", "main", "form") == "form"
    stored = read_view(world.session(), "login").line.stored
    assert (stored.landed_oid is not None) == found
    assert (REF in world.refs()) != found
    return found


def require_sound(world: World) -> None:
    """Fail the test if an operation is open, or fsck finds anything."""
    assert world.query("SELECT kind, step FROM operations WHERE status = 'open'") == []
    assert [one.message for one in run_fsck(world.session()).findings] == []
    world.require_sound()


@pytest.fixture
def validating(world: World) -> World:
    """A workstream whose task has landed on its branch, and a target that moved on."""
    assert world.drive("create_workstream", "login").returncode == 0
    add(world, "form", workstream_id="login")
    world.approved("auth", "form", {"form": "1\n"})
    world.land("auth")
    world.advance({"other": "1\n"})
    return world


@pytest.mark.parametrize("point", [*BEFORE, *AFTER])
def test_a_killed_landing(validating: World, point: str) -> None:
    """The next command rolls the landing back or completes it, and the same command ends it."""
    world, target = validating, validating.tip()
    killed = world.drive("validate", "login", GITWORKER_CRASH_AT=point)
    assert killed.returncode == KILLED, killed.stderr
    assert world.drive("recover_all").returncode == 0
    assert has_landed(world) == (point in AFTER)
    require_sound(world)
    again = world.drive("validate", "login")
    assert (again.returncode, again.stdout.strip()) == (0, "completed"), again.stderr
    assert has_landed(world)
    assert world.git("rev-list", "--count", f"{target}..main") == "1"
    assert world.show("other") == "1"
    require_sound(world)


@pytest.mark.parametrize("point", ["undo.journal", "undo.rewound", "undo.returned"])
def test_a_killed_undo(validating: World, point: str) -> None:
    """The next command completes the undo: the target and the branch are back."""
    world = validating
    before = (world.tip(), world.tip(REF))
    assert world.drive("validate", "login").returncode == 0
    assert world.drive("undo", GITWORKER_CRASH_AT=point).returncode == KILLED
    assert world.drive("recover_all").returncode == 0
    assert not has_landed(world)
    assert (world.tip(), world.tip(REF)) == before
    require_sound(world)


def test_a_killed_creation(world: World) -> None:
    """The same command uses the branch that the killed one has made."""
    killed = world.drive("create_workstream", "login", GITWORKER_CRASH_AT="workstream.branch")
    assert killed.returncode == KILLED
    again = world.drive("create_workstream", "login")
    assert (again.returncode, again.stdout.strip()) == (0, REF), again.stderr
