"""A seat in a repository, ready for an agent; our hooks there ring no doorbell."""

from pathlib import Path

import pytest

from tests.agents.seat import Seat
from tests.workers.world import World


@pytest.fixture
def seat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seat:
    """The seat `auth`, ASSIGNED with the task `t1`."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    world.spawn("auth", "t1")
    return Seat(world)
