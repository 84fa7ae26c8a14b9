"""The worktrees of Claude Code are those of workers, and removing one never loses work.

The names of the loss scenarios are those under which users of plain worktrees reported lost work.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.agents.hooks.make_worktree import make_worktree, remove_worktree
from gitworker.bus.drain import drain
from gitworker.errors import GitWorkerError, NotFound
from gitworker.journal.undo.undo import undo
from tests.hints.following import note
from tests.workers.world import World, wait_until, without_heartbeat_daemon

WORKER = "cc-login-form"
FILES = {"form": "form\n"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A repository without workers; a removal changes the working directory."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    monkeypatch.chdir(tmp_path)
    made = World.make(tmp_path / "repo")
    with without_heartbeat_daemon(made):
        yield made
        made.require_sound()


def make(world: World, name: str = "login-form") -> Path:
    """Make a worktree as Claude Code asks for it."""
    return Path(make_worktree(world.session(), name))


def require_kept(world: World, path: Path, code: str = "unlanded") -> None:
    """Fail the test unless the removal is refused and changes nothing."""
    drain(world.session())
    before = world.picture()
    with pytest.raises(GitWorkerError) as caught:
        remove_worktree(world.session(), str(path))
    assert caught.value.code == code
    assert world.picture() == before


def test_a_worktree_is_a_worker(world: World) -> None:
    """A session's worktree has a worker, a task and a branch; the same name finds it again."""
    path = make(world)
    assert world.states(WORKER, "login-form") == ("ASSIGNED", "ASSIGNED")
    assert world.git("branch", "--show-current", cwd=path) == f"{WORKER}/login-form"
    world.commit(WORKER, FILES)
    assert make(world) == path


def test_names_that_are_alike(world: World) -> None:
    """Two names that differ in a sign get a worker and a worktree each, and find them again."""
    paths = [make(world, name) for name in ("fix-login", "fix/login")]
    assert paths[0] != paths[1]
    assert [make(world, name) for name in ("fix-login", "fix/login")] == paths


def test_an_unused_worktree_is_removed(world: World) -> None:
    """A worktree without work is removed, `undo` brings it back, and its name can be used again."""
    path = make(world)
    assert remove_worktree(world.session(), str(path)) == WORKER
    assert not path.exists()
    again = make(world)
    assert again.name == "login-form-2"
    remove_worktree(world.session(), str(again))
    undo(world.session())
    assert again.is_dir()


def test_loss_dirty_worktree(world: World) -> None:
    """Untracked and modified files keep the worktree."""
    path = make(world)
    Repo(path).write({"new": "new\n"})
    require_kept(world, path)
    (path / "new").unlink()
    Repo(path).write({"README": "changed\n"})
    require_kept(world, path)


def test_loss_unpushed_commits(world: World) -> None:
    """Commits that have not landed keep the worktree, on its branch and on a detached HEAD."""
    path = make(world)
    world.commit(WORKER, FILES)
    require_kept(world, path)
    other = make(world, "other")
    world.git("checkout", "-q", "--detach", cwd=other)
    Repo(other).commit("Detached", FILES)
    require_kept(world, other)


def test_loss_live_sibling(world: World) -> None:
    """Another session in the same worktree keeps it, and other worktrees are not touched."""
    path, sibling = make(world), make(world, "sibling")
    Repo(sibling).write({"new": "new\n"})
    with subprocess.Popen(["sleep", "600"], cwd=path) as process:
        try:
            wait_until(lambda: os.readlink(f"/proc/{process.pid}/cwd") == str(path))
            require_kept(world, path, "occupied")
        finally:
            process.kill()
    remove_worktree(world.session(), str(path))
    assert (sibling / "new").read_text() == "new\n"


def test_loss_locked_worktree(world: World) -> None:
    """A worktree that its user has locked stays."""
    path = make(world)
    world.git("worktree", "lock", "--reason", "mine", str(path))
    require_kept(world, path, "worktree_locked")
    world.git("worktree", "unlock", str(path))
    remove_worktree(world.session(), str(path))
    assert not path.exists()
    note(f"git worktree unlock {path}", "is locked and stays")


def test_loss_branch_deleted_before_landing(world: World) -> None:
    """A worktree whose branch was deleted stays, and its commit can be found there."""
    path = make(world)
    commit = world.commit(WORKER, FILES)
    world.git("update-ref", "-d", f"refs/heads/{WORKER}/login-form")
    with pytest.raises(GitWorkerError):
        remove_worktree(world.session(), str(path))
    assert (path / "form").read_text() == "form\n"
    world.git("update-ref", f"refs/heads/{WORKER}/login-form", commit)
    require_kept(world, path)


def test_loss_exit_without_merge(world: World) -> None:
    """Work that was never merged stays after the session, and lands later."""
    path = make(world)
    world.commit(WORKER, FILES)
    require_kept(world, path)
    world.submit(WORKER)
    world.approve(WORKER)
    require_kept(world, path)
    world.land(WORKER)
    assert world.show("form") == "form"
    assert not path.exists()


def test_foreign_worktrees_are_refused(world: World, tmp_path: Path) -> None:
    """A worktree that belongs to no worker, the main checkout and other places are refused."""
    world.git("worktree", "add", "-q", str(tmp_path / "mine"))
    for path in (tmp_path / "mine", world.root, tmp_path):
        with pytest.raises(NotFound):
            remove_worktree(world.session(), str(path))
    assert (tmp_path / "mine" / "README").is_file()
