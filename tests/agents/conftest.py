"""A worker that is ready for an agent, in a repository whose hooks start no background job."""

from pathlib import Path

import pytest

from tests.agents.seat import Seat
from tests.workers.world import World


@pytest.fixture
def seat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seat:
    """Return the worker `auth`, ASSIGNED with the task `t1`."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    world.spawn("auth", "t1")
    return Seat(world)
