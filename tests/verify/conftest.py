"""A scene for each test: a repository on which verify commands run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.verify.scene import VerifyScene
from tests.workers.world import World, without_heartbeat_daemon


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[VerifyScene]:
    """A repository on main with one commit, without commands yet."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    with without_heartbeat_daemon(world):
        yield VerifyScene(world, monkeypatch)
