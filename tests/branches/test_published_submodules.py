"""A submodule commit that only the worker's worktree has does not land."""

from pathlib import Path

import pytest

from fixtures.repos import Repo
from gitworker.errors import Refused
from tests.hints.following import Printed, follow, note
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
