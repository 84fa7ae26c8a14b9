"""Repositories inside a worktree: detected, asked for at landing, kept on deletion."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Refused
from gitworker.repo.plumbing.git import Git
from gitworker.repo.status.embedded_repositories import find_embedded, may_have_submodules
from gitworker.workers.cancel import cancel
from tests.workers.world import World, wait_until


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A repository, and a bare one beside it that can be cloned."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    lib = Repo.make(tmp_path / "lib")
    lib.commit("Lib", {"lib.txt": "lib\n", ".gitignore": "*.o\n"})
    lib.git("clone", "-q", "--bare", str(lib.root), str(tmp_path / "lib.git"))
    return World.make(tmp_path / "repo")


def with_clone(world: World, worker: str = "auth", *, pushed: bool = False) -> Repo:
    """Let a worker clone the library, commit in it, and record it; return the clone."""
    place = world.working(worker, f"t-{worker}", {"a": "1\n"})
    world.git("clone", "-q", str(world.root.parent / "lib.git"), "deep/emb", cwd=place)
    clone = Repo(place / "deep/emb")
    clone.commit("Mine", {"mine": "1\n"})
    clone.write({"cache.o": "precious\n"})
    if pushed:
        clone.git("push", "-q", "origin", "HEAD:topic")
    url = str(world.root.parent / "lib.git")
    for key, value in (("path", "deep/emb"), ("url", url)):
        world.git("config", "-f", ".gitmodules", f"submodule.emb.{key}", value, cwd=place)
    world.git("add", ".gitmodules", "deep/emb", cwd=place)
    world.git("commit", "-qm", "An embedded repository", cwd=place)
    return clone


def admin(world: World, worker: str) -> str:
    """Return a worker's admin directory."""
    found = world.worker(worker).admin_dir
    assert found is not None
    return found


def test_detected(world: World) -> None:
    """A worktree with an embedded repository is detected by its index alone."""
    world.working("bob", "t-bob", {"b": "1\n"})
    clone = with_clone(world)
    assert not may_have_submodules(admin(world, "bob"))
    assert may_have_submodules(admin(world, "auth"))
    here = Git(str(world.path("auth")))
    assert list(find_embedded(here)) == [("deep/emb", str(clone.root / ".git"))]
    world.git("update-index", "--split-index", cwd=world.path("bob"))
    assert may_have_submodules(admin(world, "bob"))
    assert not may_have_submodules(str(world.root / "nothing"))


def test_not_its_own(world: World, tmp_path: Path) -> None:
    """A repository outside the worktree that a link leads to is not part of the worktree."""
    clone = with_clone(world)
    (clone.root / ".git").rename(tmp_path / "away")
    (clone.root / ".git").symlink_to(tmp_path / "away")
    assert list(find_embedded(Git(str(world.path("auth"))))) == []


def test_unpublished(world: World) -> None:
    """A commit that is nowhere but in the embedded repository is asked for before it can land."""
    clone = with_clone(world)
    world.submit("auth")
    with pytest.raises(Refused) as caught:
        world.approve("auth")
    assert caught.value.code == "submodule_unpublished"
    clone.git("push", "-q", "origin", "HEAD:topic")
    world.approve("auth")


def test_landed(world: World) -> None:
    """A landed worktree that holds a repository stays in the trash, ignored files and all."""
    with_clone(world, pushed=True)
    world.submit("auth")
    world.approve("auth")
    world.working("bob", "t-bob", {"b": "1\n"})
    world.submit("bob")
    world.approve("bob")
    world.merge("auth", "bob")  # one process deletes both, one after the other
    trash = world.root / "worktrees/.trash"
    wait_until(lambda: not list(trash.glob("*bob*")))
    (kept,) = trash.glob("*auth*/tree/deep/emb/cache.o")
    assert kept.read_text() == "precious\n"


def test_withdrawn(world: World) -> None:
    """Commits of an embedded repository are kept before the worktree is deleted."""
    clone = with_clone(world)
    clone.write({"mine": "changed\n", "new": "untracked\n"})
    own = clone.head()
    cancel(world.session(), "auth")
    refs = [ref for ref in world.refs() if ref.startswith("refs/worker/submodules/auth/t-auth/")]
    assert own in [world.tip(ref) for ref in refs]
    (work,) = [ref for ref in refs if "/work/" in ref]
    assert (world.show("mine", work), world.show("new", work)) == ("changed", "untracked")
