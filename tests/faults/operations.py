"""The operations of the crash suite as commands, and the commands that it kills elsewhere."""

import os
from dataclasses import replace
from pathlib import Path

from fixtures.repos import Repo
from gitworker.lifecycle.fail import fail
from tests.crash.inventory import Inventory
from tests.crash.operations import OPERATIONS, THEIRS, Operation, dirty_work
from tests.workers.dirty_worktree import make_dirty
from tests.workers.world import World

RESOLVED = "both\n"
PLACE = "long.txt"
OLD = "".join(f"old line {number}\n" for number in range(400))
NEW = "".join(f"new line {number}\n" for number in range(500))


def branch(world: World) -> None:
    """A branch of the user's without a worktree."""
    world.git("branch", "idle")
    world.session()


def spawned(world: World) -> None:
    """A worker that has not begun."""
    world.spawn("auth", "login")


def removed(world: World) -> None:
    """A failed worker whose work was reset: a trash entry and rescue refs."""
    dirty_work(world)
    fail(world.session(), "auth", reason="stuck")
    world.drive("reset", "auth")


def collected(world: World) -> None:
    """A landed worker whose rescue refs a gc has expired."""
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance(THEIRS)
    world.approve("auth")
    world.land("auth")
    done = world.drive("gc")
    assert done.returncode == 0, done.stderr


def diverged(world: World) -> None:
    """A worker with three commits, a target that moved, and files that git does not track."""
    world.advance({PLACE: OLD, "crlf.txt": OLD, ".gitattributes": "crlf.txt eol=crlf\n"})
    place = world.working("auth", "login", {"a": "1\n"})
    world.commit("auth", {"src/more.py": "more\n"}, "Second")
    world.commit("auth", {"a": None}, "Third")
    world.advance({PLACE: NEW, "crlf.txt": NEW, "src/new.py": "theirs\n", **THEIRS})
    Repo(place).write({"x.o": "ignored", "notes": "untracked\n"})


def left_behind(world: World) -> None:
    """A worker with no commit yet, whose branch a rebase only fast-forwards."""
    world.advance({PLACE: OLD, "crlf.txt": OLD, ".gitattributes": "crlf.txt eol=crlf\n"})
    place = Path(world.spawn("auth", "login").path)
    world.drive("start", "auth", str(os.getpid()))
    world.advance({PLACE: NEW, "crlf.txt": NEW, "src/new.py": "theirs\n", **THEIRS})
    Repo(place).write({"x.o": "ignored", "notes": "untracked\n"})


def resolved(world: World) -> None:
    """A rebase that stopped at a conflict, which the worker has resolved and staged."""
    place = world.working("auth", "login", {"README": "mine\n"})
    world.commit("auth", {"a": "1\n"}, "Second")
    world.advance({"README": "theirs\n", PLACE: OLD, **THEIRS})
    stopped = world.drive("sync", cwd=place)
    assert stopped.returncode == 3, stopped.stderr
    Repo(place).write({"README": RESOLVED, "x.o": "ignored", "notes": "untracked\n"})
    world.git("add", "README", cwd=place)


def behind(world: World) -> None:
    """A worker in review; the target rewrote a long file that its worktree has."""
    world.advance({PLACE: OLD, "crlf.txt": OLD, ".gitattributes": "crlf.txt eol=crlf\n"})
    world.in_review("auth", "login", {"a": "1\n"})
    world.advance({PLACE: NEW, "crlf.txt": NEW, **THEIRS})


def rebased(world: World) -> None:
    """The same, approved: its branch was rebased over the long file."""
    behind(world)
    world.approve("auth")


def rewriting(world: World) -> None:
    """Prepare an approved worker that rewrites long files, and a user who works in the checkout."""
    world.advance({PLACE: OLD, "crlf.txt": OLD, ".gitattributes": "crlf.txt eol=crlf\n"})
    place = world.approved("auth", "login", {PLACE: NEW, "crlf.txt": NEW})
    make_dirty(world, place)
    Repo(world.root).write({"README": "the user's\n", "notes": "untracked\n", "y.o": "ignored"})


def rewritten(world: World) -> None:
    """The same, landed."""
    rewriting(world)
    world.land("auth")


def kept_behind(world: World) -> None:
    """An approved worker whose branch follows the landing over a long file."""
    behind(world)
    world.approve("auth")
    world.advance({PLACE: OLD, "crlf.txt": OLD})


MORE = (
    Operation("start", spawned, ("start", "auth"), (), ("WORKING", "IN_PROGRESS")),
    Operation(
        "done-commit", dirty_work, ("done", "auth", "--commit", "-m", "All of it"), (),
        ("IN_REVIEW", "AWAITING_APPROVAL"),
    ),
    Operation("fail", dirty_work, ("fail", "auth", "-m", "stuck"), (), ("FAILED", "FAILED")),
    Operation("adopt", branch, ("adopt", "--rename", "idle", "auth", "login"), (),
        ("ASSIGNED", "ASSIGNED")),
    Operation("undo-reset", removed, ("undo",), (), ("FAILED", "FAILED")),
    Operation("undo-gc", collected, ("undo",), (), ("COMPLETED", "COMPLETED")),
    Operation("sync", diverged, ("sync",), (), ("WORKING", "IN_PROGRESS"), inside=True),
    Operation("sync-behind", left_behind, ("sync",), (), ("WORKING", "IN_PROGRESS"), inside=True),
    Operation("sync-continue", resolved, ("sync", "--continue"), (), ("WORKING", "IN_PROGRESS"),
        inside=True),
    Operation("sync-abort", resolved, ("sync", "--abort"), (), ("WORKING", "IN_PROGRESS"),
        inside=True),
    Operation("gc", removed, ("gc", "--older-than", "0"), (), ("IDLE", "FAILED")),
)  # fmt: skip


def spared(operation: Operation, before: Inventory) -> Inventory:
    """Return the paths to keep: `done --commit` may stage, `gc` deletes from the trash.

    A rebase that ends replaces the index in which a conflict was resolved.
    """
    if operation.name in ("sync-continue", "sync-abort"):
        open_ones = {place: seen for place, seen in before.status.items() if "README" in seen}
        return replace(before, status={**before.status, **dict.fromkeys(open_ones, UNTRACKED)})
    if operation.name == "done-commit":
        return replace(before, status={})
    if operation.name == "gc":
        kept = {name: data for name, data in before.uncommitted.items() if "/.trash/" not in name}
        return replace(before, uncommitted=kept)
    return before


UNTRACKED = "?? notes\n!! x.o"
# A second undo would undo the operation before.
ONCE = ("undo-reset", "undo-gc", "undo-merge", "undo-merge-elsewhere", "undo-merge-kept")

EVERY = (*(operation for operation in OPERATIONS if operation.first is None), *MORE)

# One long file each that git writes in the middle of the command.
WRITING = {
    "approve": Operation("cut-approve", behind, ("approve", "auth"), (), ("APPROVED", "")),
    "sync": Operation("cut-sync", diverged, ("sync",), (), ("WORKING", ""), inside=True),
    "undo-approve": Operation("cut-undo-approve", rebased, ("undo",), (), ("IN_REVIEW", "")),
    "merge": Operation("cut-merge", rewriting, ("merge", "auth"), (), ("COMPLETED", "")),
    "undo-merge": Operation("cut-undo-merge", rewritten, ("undo",), (), ("APPROVED", "")),
    "merge-kept": Operation(
        "cut-merge-kept", kept_behind, ("merge", "auth", "--keep"), (), ("COMPLETED", "")
    ),
}
IN_MAIN = ("merge", "undo-merge")
