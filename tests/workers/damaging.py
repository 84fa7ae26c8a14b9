"""Damaged worktrees: each function here damages the worktree of worker `auth` in one way."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.workers.world import World

Damage = Callable[[World, Path], object]


def admin_of(world: World, worker: str = "auth") -> Path:
    """Return git's own directory of a worker's worktree, as recorded."""
    return Path(world.worker(worker).admin_dir or "")


def without_git_file(world: World, place: Path) -> None:
    """Delete the file that leads to the repository."""
    (place / ".git").unlink()


def garbage_git_file(world: World, place: Path) -> None:
    """Empty the file that leads to the repository, as a full disk does."""
    (place / ".git").write_text("")


def of_another_worker(world: World, place: Path) -> None:
    """Let the `.git` file lead to the worktree of `bob`."""
    (place / ".git").write_text(f"gitdir: {admin_of(world, 'bob')}\n")


def of_main_checkout(world: World, place: Path) -> None:
    """Let the `.git` file lead to the repository itself."""
    (place / ".git").write_text(f"gitdir: {world.root}/.git\n")


def of_another_repository(world: World, place: Path) -> None:
    """Let the `.git` file lead to a repository elsewhere."""
    other = world.root.parent / "other"
    world.git("init", "-q", str(other))
    (place / ".git").write_text(f"gitdir: {other}/.git\n")


def own_repository(world: World, place: Path) -> None:
    """Replace the `.git` file by a repository of its own."""
    (place / ".git").unlink()
    world.git("init", "-q", cwd=place)


def link_to_main(world: World, place: Path) -> None:
    """Replace the directory by a symbolic link to the main checkout."""
    place.rename(f"{place}.aside")
    place.symlink_to(world.root)


def link_to_another_worker(world: World, place: Path) -> None:
    """Replace the directory by a symbolic link to the worktree of `bob`."""
    place.rename(f"{place}.aside")
    place.symlink_to(world.path("bob"))


def copy_of_another_worker(world: World, place: Path) -> None:
    """Replace the directory by a copy of the worktree of `bob`."""
    place.rename(f"{place}.aside")
    shutil.copytree(world.path("bob"), place)


def without_admin_dir(world: World, place: Path) -> None:
    """Move git's own directory of the worktree away."""
    admin_of(world).rename(world.root.parent / "admin")


def admin_of_another_place(world: World, place: Path) -> None:
    """Let git's own directory name another place."""
    (admin_of(world) / "gitdir").write_text(f"{world.root.parent}/nowhere/.git\n")


def marked_for_another(world: World, place: Path) -> None:
    """Mark the worktree as that of another worker."""
    (admin_of(world) / "gitworker-seat").write_text("bob other\n")


def moved_out_of_sight(world: World, place: Path) -> None:
    """Move the directory, by hand, to a place that no command searches."""
    away = world.root.parent / "far" / "away"
    away.mkdir(parents=True)
    place.rename(away / "login")


PLACES: dict[str, Damage] = {
    "no_git_file": without_git_file,
    "garbage": garbage_git_file,
    "other_worktree": of_another_worker,
    "main": of_main_checkout,
    "other_repository": of_another_repository,
    "own_repository": own_repository,
    "link_to_main": link_to_main,
    "link_to_worker": link_to_another_worker,
    "copy_of_worker": copy_of_another_worker,
    "unknown": without_admin_dir,
    "other_place": admin_of_another_place,
    "other_worker": marked_for_another,
    "moved": moved_out_of_sight,
}
CODES = {
    "garbage": "worktree_no_git_file",
    "main": "worktree_other_repository",
    "link_to_main": "worktree_not_a_directory",
    "link_to_worker": "worktree_not_a_directory",
    "copy_of_worker": "worktree_other_worktree",
    "moved": "worktree_missing",
}


def on_target(world: World, place: Path) -> None:
    """Check the target out in the worktree."""
    world.git("checkout", "-q", "--ignore-other-worktrees", "main", cwd=place)


def on_branch_of_another(world: World, place: Path) -> None:
    """Check the branch of `bob` out in the worktree."""
    branch = world.worker("bob").branch or ""
    world.git("checkout", "-q", "--ignore-other-worktrees", branch, cwd=place)


def detached(world: World, place: Path) -> None:
    """Detach HEAD in the worktree."""
    world.git("checkout", "-q", "--detach", cwd=place)


HEADS: dict[str, Damage] = {
    "target": on_target,
    "branch_of_another": on_branch_of_another,
    "detached": detached,
}


def bytes_below(top: Path, *, but: Path | None = None) -> dict[str, bytes]:
    """Return every file below a directory with its content, `.git` and `but` left out."""
    found = {}
    for folder, folders, files in os.walk(top):
        folders[:] = [
            name
            for name in folders
            if name not in (".git", "worktrees") and Path(folder, name) != but
        ]
        for name in files:
            path = Path(folder, name)
            found[str(path)] = (
                os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            )
    return found
