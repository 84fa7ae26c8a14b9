"""A submodule commit that only the worker's worktree has does not land."""

import shutil
from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Refused
from tests.hints.following import Printed, follow, note
from tests.workers.test_ownership_hints import follow as follow_as_user
from tests.workers.world import World

FILE = ("-c", "protocol.file.allow=always")


@pytest.fixture
def with_library(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A repository with a filled submodule `lib`, and a worker whose worktree has it too."""
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.file.allow")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "always")
    lib = Repo.make(tmp_path / "lib", "--bare")
    source = Repo.make(tmp_path / "source")
    source.commit("Library", {"code": "1\n"})
    source.git("push", "-q", str(lib.root), "main")
    world.git(*FILE, "submodule", "--quiet", "add", str(lib.root), "lib")
    world.git("commit", "-qm", "Take the library in")
    world.working("auth", "login", {"a": "1\n"})
    return world


def test_own_submodule_commits(with_library: World) -> None:
    """Approving is refused until the submodule's commit is pushed; then it lands."""
    world = with_library
    place = world.path("auth")
    inner = Repo(place / "lib")
    inner.git("checkout", "-q", "-b", "fix")
    inner.commit("Mend", {"code": "2\n"})
    world.git("commit", "-qam", "Point to it", cwd=place)
    world.submit("auth")
    with pytest.raises(Refused) as caught:
        world.approve("auth")
    assert caught.value.code == "submodule_unpublished"
    assert world.states("auth", "login")[0] == "IN_REVIEW"
    hint = caught.value.hint or ""
    assert follow(Printed([], str(world.root)), hint) is None
    note(hint, caught.value.message)
    world.approve("auth")
    world.land("auth")


@pytest.mark.parametrize("with_files", [False, True])
def test_a_nested_repository_is_not_handed_in(world: World, *, with_files: bool) -> None:
    """A bare link to a repository is refused until it is left out, or replaced by the files."""
    place = world.working("auth", "login", {"a": "1\n"})
    Repo.make(place / "vendored").commit("Inner", {"code": "1\n"})
    with pytest.raises(Refused) as caught:
        world.submit("auth", commit_message="All of it")
    assert (caught.value.code, "vendored" in str(caught.value)) == ("nested_repository", True)
    if with_files:
        world.git("rm", "-q", "--cached", "vendored", cwd=place)
        shutil.rmtree(place / "vendored/.git")
    else:
        hint = str(caught.value.hint).partition("   # ")[0]
        assert follow_as_user(world, hint).status == 0
        note(hint, caught.value.message)
    world.submit("auth", commit_message="Its files")
    world.approve("auth")
    world.land("auth")
    listed = world.git("ls-tree", "-r", "--name-only", "main").split()
    assert ("vendored/code" in listed, "vendored" in listed) == (with_files, False)
