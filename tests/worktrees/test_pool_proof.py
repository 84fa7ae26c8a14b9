"""A parked worktree is used only if it is proved to be the entry's own, in this repository."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.repo.pool.parked import list_parked
from gitworker.worktrees.pool.hand_out import open_pool
from gitworker.worktrees.pool.keep_ready import empty_pool, keep_pool
from tests.cli.kit import ok
from tests.workers.world import World

Damage = Callable[[World, Path], object]


def without_git_file(world: World, tree: Path) -> None:
    """Delete the file that leads to the entry's admin directory."""
    (tree / ".git").unlink()


def of_main_checkout(world: World, tree: Path) -> None:
    """Let the `.git` file lead to the repository itself."""
    (tree / ".git").write_text(f"gitdir: {world.root}/.git\n")


def of_a_worker(world: World, tree: Path) -> None:
    """Let the `.git` file lead to the worktree of a worker at the same commit."""
    (tree / ".git").write_text(f"gitdir: {world.root}/.git/worktrees/t0\n")


def of_a_clone(world: World, tree: Path) -> None:
    """Let the `.git` file lead to a clone, which is at the same commit."""
    other = world.root.parent / "clone"
    world.git("clone", "-q", str(world.root), str(other))
    (tree / ".git").write_text(f"gitdir: {other}/.git\n")


def own_repository(world: World, tree: Path) -> None:
    """Replace the `.git` file by a copy of the repository's own directory."""
    (tree / ".git").unlink()
    shutil.copytree(world.root / ".git", tree / ".git", symlinks=True)


def without_admin(world: World, tree: Path) -> None:
    """Delete the entry's admin directory."""
    shutil.rmtree(tree.parent / "admin")


def garbage_head(world: World, tree: Path) -> None:
    """Fill HEAD of the entry's admin directory with zeroes."""
    (tree.parent / "admin" / "HEAD").write_bytes(b"\0" * 41)


def garbage_index(world: World, tree: Path) -> None:
    """Replace the entry's index by garbage."""
    (tree.parent / "admin" / "index").write_bytes(b"garbage")


DAMAGES: list[Damage] = [
    without_git_file, of_main_checkout, of_a_worker, of_a_clone, own_repository, without_admin,
    garbage_head, garbage_index,
]  # fmt: skip


@pytest.fixture
def pooled(world: World) -> World:
    """A worker `zero`, and a pool of one worktree at the target's tip; then both have a note."""
    world.git("config", "worker.worktree.pool", "1")
    world.spawn("zero", "t0")
    keep_pool(world.session())
    return world


def parked(world: World) -> Path:
    """Return the parked worktree."""
    (one,) = list_parked(open_pool(world.session()))
    return Path(one.tree)


def others(world: World) -> dict[str, str]:
    """Return HEAD, status and index of the main checkout and of the worker's worktree."""
    return {
        f"{place} {words}": world.git(*words.split(), cwd=place)
        for place in (world.root, world.path("zero"))
        for words in ("rev-parse --symbolic-full-name HEAD", "rev-parse HEAD", "ls-files -s",
                      "status --porcelain -uall")
    }  # fmt: skip


@pytest.mark.parametrize("moves", [False, True], ids=["same", "moved"])
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
def test_a_damaged_entry_is_not_taken(pooled: World, damage: Damage, moves: bool) -> None:
    """A spawn passes an entry by that is not proved, and works in no other directory."""
    tree = parked(pooled)
    if moves:
        pooled.advance({"new": "1\n"})
    damage(pooled, tree)
    (tree / "note.o").write_text("keep me\n")
    before = others(pooled)
    ok(pooled.root, "spawn", "auth", "login")
    place = pooled.path("auth")
    assert pooled.git("rev-parse", "HEAD", cwd=place) == pooled.tip()
    assert pooled.git("status", "--porcelain", "-uall", cwd=place) == ""
    assert not (place / "note.o").exists()
    assert others(pooled) == before


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("job", [keep_pool, empty_pool])
def test_a_damaged_entry_is_set_aside(
    pooled: World, damage: Damage, job: Callable[..., object]
) -> None:
    """The pool's job moves an unproved entry to the trash, whole, and works nowhere else."""
    tree = parked(pooled)
    pooled.advance({"new": "1\n"})
    damage(pooled, tree)
    (tree / "note.o").write_text("keep me\n")
    before = others(pooled)
    job(pooled.session())
    assert not tree.exists()
    kept = list((pooled.root / "worktrees" / ".trash").glob("*/tree/note.o"))
    assert [one.read_text() for one in kept] == ["keep me\n"]
    assert others(pooled) == before
    if job is keep_pool:
        assert Repo(parked(pooled)).git("rev-parse", "HEAD") == pooled.tip()
