"""adopt checks the place of a worktree: whether it can be deleted, and the loss if it were."""

import os
import subprocess
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Refused
from gitworker.repo.hooks.shims import CONFIG_HOOKS_SINCE
from tests.workers.test_adopt import by_hand, take
from tests.workers.world import World, kept, unchanged


def test_inside_another_worktree(world: World) -> None:
    """A worktree inside another one is refused, since it would be removed with that one."""
    outer = Path(world.spawn("bob", "other").path)
    world.git("worktree", "add", "-q", "-b", "inner", str(outer / "build.o" / "inner"))
    for name in ("inner", str(outer / "build.o" / "inner")):
        with unchanged(world, "nested"):
            take(world, name)


def test_around_another_worktree(world: World) -> None:
    """A worktree with another one inside is refused, since it would be removed with it."""
    place = by_hand(world)
    world.git("worktree", "add", "-q", "-b", "inner", str(place / "inner"))
    with unchanged(world, "nested"):
        take(world, "feature")


def test_beside_a_deleted_worktree(world: World) -> None:
    """A deleted worktree that git still lists blocks no adoption."""
    place = by_hand(world)
    world.git("worktree", "add", "-q", "-b", "inner", str(place / "inner"))
    subprocess.run(["rm", "-r", str(place / "inner")], check=True)
    assert take(world, "feature").spawned.path == str(place)


UNPRIVILEGED = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")  # root is not then


def adopt_by(world: World, *wrapper: str) -> "subprocess.CompletedProcess[str]":
    """Adopt `feature` by a process that a wrapper starts; skip if the wrapper cannot run."""
    done = subprocess.run(
        [*wrapper, "git-worker", "adopt", "--rename", "feature", "auth", "login"],
        cwd=world.root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.stderr.startswith(("unshare:", "mount:", "setpriv:")):
        pytest.skip(done.stderr)
    return done


def test_its_directory_cannot_be_written(world: World) -> None:
    """A worktree that no rename moves out of its directory stays in its place."""
    place = world.root.parent / "shelf" / "here"
    place.parent.mkdir()
    world.git("worktree", "move", str(by_hand(world)), str(place))
    place.parent.chmod(0o555)
    done = adopt_by(world, *(UNPRIVILEGED if os.geteuid() == 0 else ()))
    place.parent.chmod(0o755)
    assert (done.returncode, "cannot be moved to the trash" in done.stderr) == (1, True), (
        done.stderr
    )
    assert "refs/heads/feature" in world.refs()


def test_a_mount(world: World) -> None:
    """A worktree that is a mount point, of whichever file system, cannot be renamed."""
    place = str(by_hand(world))
    script = 'mount --bind "$0" "$0" && exec "$@"'
    done = adopt_by(world, "unshare", "--mount", "sh", "-c", script, place)
    assert (done.returncode, "cannot be moved to the trash" in done.stderr) == (1, True), (
        done.stderr
    )
    assert "refs/heads/feature" in world.refs()


def own_hooks(world: World, place: Path) -> Path:
    """Give a worktree hooks of its own, as its user does."""
    hooks = world.root.parent / "own-hooks"
    hooks.mkdir()
    (hooks / "post-commit").write_text("#!/bin/sh\ntouch ran.o\n")
    (hooks / "post-commit").chmod(0o755)
    world.git("config", "extensions.worktreeConfig", "true")
    world.git("config", "--worktree", "core.hooksPath", str(hooks), cwd=place)
    return hooks


def test_hooks_of_its_own(world: World) -> None:
    """A worktree's own hooks run on, or it is not taken."""
    place = by_hand(world)
    own_hooks(world, place)
    if world.session().git.version() < CONFIG_HOOKS_SINCE:
        with unchanged(world, "own_hooks", Refused):
            take(world, "feature")
    else:
        take(world, "feature")
    Repo(place).commit("One more", {"more": "1\n"})
    assert (place / "ran.o").exists()


def test_the_hooks_of_all(world: World) -> None:
    """Hooks that the worktree shares with the main checkout run on beside ours."""
    place = by_hand(world)
    hooks = own_hooks(world, place)
    world.git("config", "core.hooksPath", str(hooks))
    take(world, "feature")
    Repo(place).commit("One more", {"more": "1\n"})
    assert (place / "ran.o").exists()


def test_a_failing_hook_of_the_users(world: World) -> None:
    """git keeps a new worktree if the user's post-checkout fails, and so do we."""
    hook = world.root / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 7\n")
    hook.chmod(0o755)
    world.git("branch", "feature")
    assert (Path(take(world, "feature").spawned.path) / "README").exists()


def test_no_room(world: World) -> None:
    """A branch whose files do not fit on the disk is refused before anything is made."""
    world.git("branch", "feature")
    world.git("config", "worker.worktree.spare-bytes", str(10**15))
    with kept(world, "disk_space"):
        take(world, "feature")


@pytest.mark.parametrize("name", ["HEAD", "-dash"])
def test_a_name_that_git_would_not_give_again(world: World, name: str) -> None:
    """A branch that could not get its name back keeps it."""
    world.git("update-ref", f"refs/heads/{name}", "main")
    with unchanged(world, "bad_name"):
        take(world, f"refs/heads/{name}")
