"""A worktree with work of every kind in it, and its bytes for comparing."""

import os
from pathlib import Path

from fixtures.repos import Repo, tree_bytes
from tests.workers.world import World


def make_dirty(world: World, place: Path) -> None:
    """Leave staged, unstaged, deleted, untracked, ignored and executable files behind."""
    Repo(place).write(
        {"README": "staged\n", "src/app.py": "unstaged\n", "new/deep": "untracked\n", "x.o": "\0i"}
    )
    world.git("add", "README", cwd=place)
    Repo(place).write({"README": "staged, then changed\n"})
    (place / "new" / "run").write_text("#!/bin/sh\n")
    (place / "new" / "run").chmod(0o755)
    os.symlink("deep", place / "new" / "link")


def open_rebase(world: World, place: Path) -> None:
    """Stop a real rebase of the worktree's branch in the middle, with a conflict."""
    Repo(place).commit("Mine", {"README": "mine\n"})
    side = world.root.parent / "side"
    Repo(world.root).worktree(side, "-b", "side").commit("Side", {"README": "side\n"})
    assert Repo(place).run("rebase", "side").returncode


def read_worktree(world: World, place: Path) -> tuple[object, ...]:
    """Return a worktree's files byte by byte, its index entries, its status and its HEAD."""
    return (
        {name: data for name, data in tree_bytes(place).items() if name != ".git"},
        world.git("ls-files", "--stage", cwd=place),
        world.git("status", "--porcelain=v2", "--ignored", "--untracked-files=all", cwd=place),
        world.git("rev-parse", "HEAD", cwd=place),
        Repo(place).run("symbolic-ref", "HEAD").stdout,
    )
