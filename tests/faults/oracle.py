"""The conditions that hold after a fault, once the next ordinary commands have run."""

import os
from pathlib import Path

from gitworker.repo.status.checkout_status import open_operation
from tests.crash.inventory import (
    Inventory,
    is_ours,
    require_nothing_lost,
    require_tidy,
    states,
)
from tests.crash.operations import Operation
from tests.faults.harness import BUG, Outcome, plainly
from tests.workers.world import World, is_at_work, wait_until

ANSWERS = (0, 1, 3, 4)


def require_recovered(
    world: World, operation: Operation, before: Inventory, *, again: bool
) -> None:
    """Run the next commands with no fault, then fail the test unless everything is whole.

    `again` runs the verb once more, as a user does; otherwise `recover` has to be enough.
    """
    wait_until(lambda: not is_at_work(world.root))
    said = [_answer(world, "status")]
    locks = left_locks(world)
    if again:
        said.append(_answer(world, *operation.words, cwd=operation.directory(world)))
        require_named(said[-1], locks)
        wait_until(lambda: not is_at_work(world.root))
    said.append(_answer(world, "recover"))
    if locks:  # a killed git has left them; the user takes them away and recovers
        for lock in left_locks(world):
            os.unlink(lock)
        said.append(_answer(world, "recover"))
    said += leave_rebases(world, before, going_on=again)
    words = "\n".join(f"{one.status} {one.out}{one.err}" for one in said)
    require_nothing_lost(world, before)
    assert world.query("SELECT kind, step FROM operations WHERE status = 'open'") == [], words
    require_whole_files(world, before)
    require_tidy(world, before)
    fsck = _answer(world, "fsck")
    assert fsck.status == 0, fsck.out
    assert _answer(world, "recover").out.startswith("no operation was interrupted"), words
    world.require_sound()
    state = states(world)
    assert (state and state[0]) in (before.states and before.states[0], operation.done[0]), words


def leave_rebases(world: World, before: Inventory, *, going_on: bool) -> list[Outcome]:
    """End every rebase that is still open, as a user does; fail the test if that is impossible.

    Nothing may be lost while it is open. If a rebase cannot be continued, it can be aborted.
    """
    said: list[Outcome] = []
    for place in map(Path, world.worktrees()):
        admin_dir = world.git("rev-parse", "--absolute-git-dir", cwd=place)
        if open_operation(admin_dir) != "rebase":
            continue
        require_nothing_lost(world, before)
        if going_on:
            said.append(_answer(world, "sync", "--continue", cwd=place))
        if open_operation(admin_dir) is not None:
            said.append(_answer(world, "sync", "--abort", cwd=place))
        ends = "\n".join(f"{one.status} {one.err}" for one in said)
        assert open_operation(admin_dir) is None, ends
    return said


def left_locks(world: World) -> list[Path]:
    """Return git's lock files that are left in the repository."""
    return [path for path in (world.root / ".git").rglob("*.lock") if not is_ours(path)]


def require_named(refused: Outcome, locks: list[Path]) -> None:
    """Fail unless a refusal for a lock that git left names a lock file that is there."""
    for mark in ("File exists", "git_locked", "Another git process"):
        if refused.status and mark in refused.err:
            assert any(str(lock) in refused.err for lock in locks), (locks, refused.err)


def require_whole_files(world: World, before: Inventory) -> None:
    """Fail unless every tracked file has its commit's bytes, the user's changes aside.

    Read from the files alone: no index is believed.
    """
    uncommitted = set(before.uncommitted.values())
    for place in (str(world.root), *world.worktrees()):
        lines = before.status.get(place, "").splitlines()
        mine = {line.split(maxsplit=1)[1] for line in lines}
        for entry in world.git("ls-tree", "-r", "-z", "HEAD", cwd=place).split("\0"):
            facts, _, path = entry.partition("\t")
            if not path or path in mine:
                continue
            mode, _, oid = facts.split(" ")
            file = Path(place, path)
            assert os.path.lexists(file), f"{file} is missing"
            if mode != "120000":
                found = world.git("hash-object", "--", path, cwd=place)
                data = file.read_bytes()
                assert found == oid or data in uncommitted, f"{file} holds {data[:60]!r}"


def _answer(world: World, *words: str, cwd: Path | None = None) -> Outcome:
    done = plainly(world, *words, cwd=cwd)
    assert done.status in ANSWERS, (words, done.status, done.out, done.err)
    assert done.status != BUG
    return done
