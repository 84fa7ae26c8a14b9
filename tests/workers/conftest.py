"""A world for each test of a use case; afterwards log, database and history must be sound."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workers.world import World, without_heartbeat_daemon


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A repository without workers; our hooks there start no drain."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    made = World.make(tmp_path / "repo")
    with without_heartbeat_daemon(made):
        yield made
        made.require_sound()
