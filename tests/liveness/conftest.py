"""Fixtures for the tests of liveness."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bus.scene import Scene, no_heartbeat_daemon


@pytest.fixture
def scene(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A repository without workers, whose hooks start no drain."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    return Scene(repository)


@pytest.fixture
def quiet(scene: Scene) -> Iterator[Scene]:
    """The same repository, in which no heartbeat daemon can start."""
    with no_heartbeat_daemon(scene):
        yield scene
