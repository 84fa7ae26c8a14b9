"""An operation killed at any point loses nothing, leaves nothing behind and can be repeated."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gitworker
from fixtures.repos import Repo
from tests.crash.inventory import require_nothing_lost, require_tidy, states, take
from tests.crash.operations import OPERATIONS, Operation, expected_points, refused_review
from tests.workers.world import World

PACKAGE = Path(gitworker.__file__).parent
KILLED = -9
# Points whose name contains the kind of the operation, and the kinds that reach them.
KINDS = {
    "removal.py": ("cancel", "reset", "remove"),
    "connection.py": ("fleet", "outbox", "beat"),
}
CASES = [(operation, point) for operation in OPERATIONS for point in operation.points]
# One of each kind; `make test` and `make crash` die at all of them.
QUICK = {
    ("spawn", "spawn.journal"), ("spawn", "spawn.worktree"), ("spawn-pool", "pool.moved"),
    ("approve", "move-ref"),
    ("approve", "approve.moved"), ("merge-kept", "move-ref"), ("merge", "merge.forwarded"),
    ("merge", "trash-admin"), ("merge-clean", "merge.recorded"), ("cancel", "cancel.journal"),
    ("reset", "reset.trashed"), ("undo-cancel", "restore-tree"), ("undo-approve", "move-read"),
    ("undo-merge", "move-ref"), ("undo-merge", "undo.rewound"),
    ("recover", "recover-settled"),
}  # fmt: skip
ALL = [pytest.param(operation, point, id=f"{operation.name}-{point}") for operation, point in CASES]
RING = [
    pytest.param(
        operation, point, id=f"{operation.name}-{point}",
        marks=() if (operation.name, point) in QUICK else pytest.mark.slow,
    )
    for operation, point in CASES
]  # fmt: skip

Prepare = Callable[[Operation], World]


def points_in(path: Path) -> Iterator[str]:
    """Yield the names of the crash points in a source file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "crash_point":
            (name,) = node.args
            if isinstance(name, ast.Constant):
                yield str(name.value)
            else:
                suffix = ast.unparse(name).rstrip("'\"").rpartition("}")[2]
                yield from (f"{kind}{suffix}" for kind in KINDS[path.name])


def crash(world: World, operation: Operation, point: str) -> None:
    """Run the operation until it is killed at the point."""
    if operation.first is not None:
        words, earlier = operation.first
        assert world.drive(*words, GITWORKER_CRASH_AT=earlier).returncode == KILLED
    done = world.drive(*operation.words, GITWORKER_CRASH_AT=point)
    assert done.returncode == KILLED, (done.stdout, done.stderr)


def test_no_point_is_forgotten() -> None:
    """Every crash point of the code is one that some test dies at, and the reverse."""
    found = {point for path in PACKAGE.rglob("*.py") for point in points_in(path)}
    assert found == expected_points()


@pytest.mark.parametrize(("operation", "point"), RING)
def test_any_command_repairs(prepared: Prepare, operation: Operation, point: str) -> None:
    """After a kill the next command either rolls the operation back or completes it."""
    world = prepared(operation)
    before = take(world)
    crash(world, operation, point)
    repaired = world.drive("recover_all")
    assert repaired.returncode == 0, repaired.stderr
    require_nothing_lost(world, before)
    require_tidy(world, before)
    assert states(world) in (before.states, operation.done)
    rows = world.rows()
    again = world.drive("recover_all")
    assert (again.returncode, again.stdout.strip()) == (0, "")
    assert world.rows() == rows
    world.require_sound()


@pytest.mark.slow
@pytest.mark.parametrize(("operation", "point"), ALL)
def test_the_same_command_repairs(prepared: Prepare, operation: Operation, point: str) -> None:
    """After a kill the same command succeeds or reports that the operation is already done."""
    world = prepared(operation)
    before = take(world)
    crash(world, operation, point)
    again = world.drive(*operation.words)
    if operation.name == "approve-refused":
        assert again.stderr.startswith("would_overwrite"), again.stderr
    elif operation.name != "recover":
        assert again.returncode in (0, 1, 4), again.stderr
        assert states(world) == operation.done
    require_nothing_lost(world, before)
    require_tidy(world, before)
    assert world.drive("recover_all").stdout.strip() == ""
    world.require_sound()


def test_refusal(prepared: Prepare) -> None:
    """A move that git refuses and that is killed before the ref is back is taken back."""
    operation = Operation(
        "refusal", refused_by_git, ("approve", "auth"), ("move-refused",), ("", "")
    )
    world = prepared(operation)
    before, tip = take(world), world.tip("auth/login")
    crash(world, operation, "move-refused")
    world.git("config", "filter.broken.smudge", "cat")
    assert world.drive("recover_all").returncode == 0
    require_nothing_lost(world, before)
    require_tidy(world, before)
    assert states(world) in (before.states, ("APPROVED", "AWAITING_APPROVAL"))
    assert tip in world.git("rev-list", "--all")
    world.require_sound()


def refused_by_git(world: World) -> None:
    """A worker in review whose worktree git cannot write: the target brings a broken filter."""
    refused_review(world)
    world.git("checkout", "-q", ".gitignore", cwd=world.path("auth"))
    Repo(world.root).write({"filtered": "x\n", ".gitattributes": "filtered filter=broken\n"})
    world.git("add", "filtered", ".gitattributes")
    world.git("commit", "-qm", "A filter")
    world.git("config", "filter.broken.smudge", "false")
    world.git("config", "filter.broken.clean", "cat")
    world.git("config", "filter.broken.required", "true")
