"""A worker that is ready for an agent, in a repository whose hooks start no background job."""

from pathlib import Path

import pytest

from tests.agents.supervised import SupervisedWorker
from tests.workers.world import World


@pytest.fixture
def auth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SupervisedWorker:
    """Return the worker `auth`, ASSIGNED with the task `t1`."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    world = World.make(tmp_path / "repo")
    world.spawn("auth", "t1")
    return SupervisedWorker(world)
