"""A world that many processes use at once; afterwards log, database and history must be sound."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workers.world import World, without_heartbeat_daemon


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Return a repository that must have no open operation when the test ends."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    made = World.make(tmp_path / "repo")
    with without_heartbeat_daemon(made):
        yield made
        assert made.query("SELECT kind FROM operations WHERE status = 'open'") == []
        made.require_sound()
