"""A directory that was a worker's worktree is refused, and never answers as `hq`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gitworker.errors import GitWorkerError
from gitworker.lifecycle.fail import fail
from gitworker.workers.cancel import cancel, reset
from tests.workers.world import World


def refusal(world: World, place: Path) -> GitWorkerError:
    """Return the refusal of a command in a directory."""
    with pytest.raises(GitWorkerError) as caught:
        world.session(place)
    return caught.value


def test_without_its_git_file(tmp_path: Path) -> None:
    """The worker and the repair are named, in the directory and below it."""
    world = World.make(tmp_path / "repo")
    place = world.working("auth", "login", {"sub/a": "1\n"})
    (place / ".git").unlink()
    for directory in (place, place / "sub"):
        found = refusal(world, directory)
        assert found.message.startswith(f"worker auth: {place} has no .git file")
        assert found.hint == f"cd {world.root} && git worker fsck --repair"
    assert world.session(place, identity="auth").actor == "auth"
    assert world.session(world.root / "worktrees").actor == "hq"


def cancelled(world: World) -> None:
    """Cancel the task."""
    cancel(world.session(), "auth")


def freed(world: World) -> None:
    """Free a failed worker."""
    fail(world.session(), "auth", reason="stuck")
    reset(world.session(), "auth")


def landed(world: World) -> None:
    """Land the work."""
    world.submit("auth")
    world.approve("auth")
    world.land("auth")


@pytest.mark.parametrize(
    ("end", "words"),
    [(cancelled, "was cancelled"), (freed, "was taken from the worker"), (landed, "has landed")],
)
def test_made_again(tmp_path: Path, end: Callable[[World], None], words: str) -> None:
    """After the removal of the worktree the end of the task is named."""
    world = World.make(tmp_path / "repo")
    place = world.working("auth", "login", {"a": "1\n"})
    end(world)
    place.mkdir()
    found = refusal(world, place)
    assert found.message == f"{place} is no worktree any more: task login of worker auth {words}"
    assert found.hint == "git worker inbox --as auth"


def test_another_directory(tmp_path: Path) -> None:
    """Other directories of the main checkout, and of the root of the worktrees, are those of hq."""
    world = World.make(tmp_path / "repo")
    world.working("auth", "login", {"a": "1\n"})
    for name in ("notes", "worktrees/notes"):
        (world.root / name).mkdir()
        assert world.session(world.root / name).actor == "hq"
