"""Inventory of commits, bytes and owners that a crash must not lose, and of forbidden remains."""

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.workers.world import World, is_at_work, wait_until


@dataclass(frozen=True)
class Inventory:
    """All commits that a ref or a worktree reached, and every file that git does not hold."""

    commits: frozenset[str]
    uncommitted: dict[str, bytes]
    status: dict[str, str]
    states: tuple[str, str] | None


def take(world: World) -> Inventory:
    """Take stock before a crash, and after every deletion."""
    wait_until(lambda: not is_at_work(world.root))
    places = [str(world.root), *world.worktrees()]
    heads = [world.git("rev-parse", "HEAD", cwd=place) for place in places]
    commits = world.git("rev-list", "--all", *heads).splitlines()
    return Inventory(
        frozenset(commits),
        {name: data for place in trees(world) for name, data in uncommitted_files(world, place)},
        {place: status(world, place) for place in places},
        states(world),
    )


def require_nothing_lost(world: World, before: Inventory) -> None:
    """Fail the test unless a ref reaches every commit and every uncommitted byte is on disk."""
    reached = set(world.git("rev-list", "--all").splitlines())
    assert before.commits <= reached, before.commits - reached
    contents = set(all_bytes(world))
    lost = {name for name, data in before.uncommitted.items() if data not in contents}
    assert not lost


def require_tidy(world: World, before: Inventory) -> None:
    """Fail the test if something without an owner is left, or an owner lacks something."""
    rows = world.query("SELECT worker_id, state, branch, worktree FROM workers")
    owned = {place for _, _, _, place in rows if place}
    # The scratch worktree is permanent; a replay that fails in memory makes it.
    ours = {place for place in world.worktrees() if "/.verify/" in place}
    strays = set(world.worktrees()) - owned - ours - {f"{world.state_dir}/scratch/rebase"}
    assert not strays, strays
    branches = {
        name for name in world.refs() if name.startswith("refs/heads/") and "/" in name[11:]
    }
    assert branches <= {f"refs/heads/{branch}" for _, _, branch, _ in rows if branch}
    anchors = {name.removeprefix("refs/worker/landing/") for name in world.refs()}
    assert {name for name in anchors if not name.startswith("refs/")} <= {
        name.removeprefix("refs/heads/") for name in branches
    }
    for worker, state, branch, place in rows:
        if state not in ("IDLE", "COMPLETED"):
            assert f"refs/heads/{branch}" in branches, worker
            assert os.path.isdir(place), worker
    assert [path for path in (world.root / ".git").rglob("*.lock") if not is_ours(path)] == []
    assert world.query("SELECT kind, step FROM operations WHERE status = 'open'") == []
    for place in (str(world.root), *world.worktrees()):
        if place in before.status:
            seen = status(world, place)
            assert seen == before.status[place], (place, seen, before.status[place])


def states(world: World) -> tuple[str, str] | None:
    """Return the worker's and the task's state, or None if the worker does not exist."""
    rows = world.query(
        "SELECT w.state, t.status FROM workers AS w, tasks AS t"
        " WHERE worker_id = 'auth' AND t.id = 'login'"
    )
    return rows[0] if rows else None


def status(world: World, place: str) -> str:
    """Return the uncommitted, untracked and ignored files of a checkout, without ours."""
    text = world.git("status", "--porcelain", "--untracked-files=all", "--ignored", cwd=place)
    return "\n".join(
        line for line in text.splitlines() if "worktrees/" not in line and ".worker-" not in line
    )


def is_ours(path: Path) -> bool:
    """Return whether a lock file is one of the state directory's, which are never removed."""
    return "worker-state" in path.parts


def trees(world: World) -> list[Path]:
    """Return the main checkout and the workers' worktrees, those in the trash too."""
    root = world.root / "worktrees"
    found = [path.parent for path in root.glob("*/.git") if path.is_file()]
    return [world.root, *found, *root.glob(".trash/[!.]*/tree")]


def uncommitted_files(world: World, place: Path) -> Iterable[tuple[str, bytes]]:
    """Yield the files below a checkout whose bytes are in no commit; in the trash all of them."""
    if ".trash" in place.parts:
        for path in files_of(place):
            yield str(path), path.read_bytes()
        return
    listed = (
        ("ls-files", "-z", "--others", "--exclude=.worker-state", "--exclude=worktrees/"),
        ("diff-files", "-z", "--name-only"),
    )
    for command in listed:
        for name in world.git(*command, cwd=place).split("\0"):
            path = place / name
            if name and path.is_file() and not path.is_symlink():
                yield str(path), path.read_bytes()


def all_bytes(world: World) -> Iterable[bytes]:
    """Yield the content of every file in the checkout, the worktrees and the trash."""
    for path in files_of(world.root):
        if ".git" not in path.relative_to(world.root).parts:
            with contextlib.suppress(FileNotFoundError):  # a landed worktree is being deleted
                yield path.read_bytes()


def files_of(place: Path) -> Iterable[Path]:
    """Yield the regular files below a directory."""
    for directory, folders, names in os.walk(place):
        if ".git" in folders:
            folders.remove(".git")
        for name in names:
            path = Path(directory, name)
            if name != ".git" and path.is_file() and not path.is_symlink():
                yield path
