"""A commit for a worker from outside its sandbox: the user's hooks run, other worktrees do not."""

import os
import shutil
from pathlib import Path

import pytest

from gitworker.errors import GitWorkerError, Refused
from gitworker.store.workers import Worker
from gitworker.worktrees.commit_work import Committed, commit_work
from tests.workers.world import World, unchanged


def commit(world: World, worker: str, *paths: str) -> Committed:
    """Commit in a worker's worktree, called in the main checkout."""
    session = world.session(identity=worker)
    return commit_work(session, world.worker(worker), "Work", paths=paths)


def hook(world: World, name: str, script: str) -> None:
    """Install a hook of the user's."""
    path = world.root / ".git" / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_everything_is_committed(world: World) -> None:
    """New, changed and deleted files are committed, ignored ones are not; the worker is at work."""
    world.spawn("auth", "login")
    place = world.path("auth")
    (place / "README").unlink()
    (place / "src" / "app.py").write_text("changed\n")
    (place / "ä b").write_text("new\n")
    (place / "x.o").write_text("ignored\n")
    done = commit(world, "auth")
    assert sorted(done.files) == ["README", "src/app.py", "ä b"]
    assert (done.commit, done.left) == (world.tip("auth/login"), 0)
    assert world.states("auth", "login") == ("WORKING", "IN_PROGRESS")
    assert world.git("status", "--porcelain") == ""


def test_paths(world: World) -> None:
    """Only the named files and directories are committed; a name is no pattern."""
    world.spawn("auth", "login")
    place = world.path("auth")
    for name in ("one", "two", "*", "src/new.py"):
        (place / name).write_text("1\n")
    assert commit(world, "auth", "*").files == ("*",)
    assert commit(world, "auth", str(place / "src"), "one").files == ("one", "src/new.py")
    assert commit(world, "auth", "two").left == 0


@pytest.mark.parametrize("name", ["no-such-file", "../login2/x", "/etc/passwd", ".git/config"])
def test_other_paths_are_refused(world: World, name: str) -> None:
    """A path that is not a file of the worktree changes nothing."""
    world.spawn("auth", "login")
    (world.path("auth") / "new").write_text("1\n")
    with unchanged(world):
        commit(world, "auth", name)


def test_nothing_to_commit(world: World) -> None:
    """A clean worktree is refused with a code of its own."""
    world.spawn("auth", "login")
    with unchanged(world, "nothing_to_commit"):
        commit(world, "auth")


def test_the_users_hooks_run(world: World, tmp_path: Path) -> None:
    """pre-commit, commit-msg and post-commit run in the worktree; a refusal is reported whole."""
    for name in ("pre-commit", "commit-msg", "post-commit"):
        hook(world, name, f'echo {name} "$(pwd)" >>{tmp_path}/ran')
    world.spawn("auth", "login")
    place = world.path("auth")
    (place / "new").write_text("1\n")
    commit(world, "auth")
    ran = (tmp_path / "ran").read_text().splitlines()
    assert ran == [f"{name} {place}" for name in ("pre-commit", "commit-msg", "post-commit")]
    hook(world, "pre-commit", "echo to standard output; echo no tabs please >&2; exit 1")
    (place / "new").write_text("2\n")
    with pytest.raises(Refused) as caught:
        commit(world, "auth")
    assert caught.value.code == "commit_refused"
    assert "no tabs please" in caught.value.detail
    assert world.git("log", "--format=%s", "main..auth/login") == "Work"


def spoil(world: World, worker: Worker, how: str) -> None:
    """Make a worktree that is not the worker's any more."""
    place = Path(worker.worktree or "")
    if how == "worktree_no_git_file":
        (place / ".git").unlink()
    elif how == "worktree_own_repository":
        (place / ".git").unlink()
        world.git("init", "-q", str(place))
    elif how == "worktree_missing":
        shutil.rmtree(place)
    elif how == "worktree_not_a_directory":
        os.rename(place, f"{place}.away")
        os.symlink(world.root, place)
    elif how == "wrong_branch":
        world.git("checkout", "-q", "--detach", cwd=place)


@pytest.mark.parametrize(
    "how",
    [
        "worktree_no_git_file",
        "worktree_own_repository",
        "worktree_missing",
        "worktree_not_a_directory",
        "wrong_branch",
    ],
)
def test_only_the_workers_own_worktree(world: World, how: str) -> None:
    """Without the proof that the directory is the worker's, nothing is committed anywhere."""
    world.spawn("auth", "login")
    (world.path("auth") / "new").write_text("1\n")
    (world.root / "mine").write_text("1\n")
    spoil(world, world.worker("auth"), how)
    before = world.refs()
    with pytest.raises(GitWorkerError) as caught:
        commit(world, "auth")
    assert caught.value.code == how
    assert world.refs() == before
    assert world.git("status", "--porcelain", "--untracked-files=normal").splitlines()[-1:] == [
        "?? mine"
    ]
