"""Prepared repositories that are put back as they were before each crash."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.operations import Operation
from tests.workers.world import World, is_at_work, wait_until, without_heartbeat_daemon

# A copy has other inodes and change times; its index must count as fresh all the same.
FRESH = {"core.checkStat": "minimal", "core.trustctime": "false"}


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory that this process keeps its prepared repositories in."""
    return tmp_path_factory.mktemp("operations")


@pytest.fixture
def prepared(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Operation], World]]:
    """Return a function that restores the prepared repository of an operation at a fixed path."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    with contextlib.ExitStack() as stack:

        def prepare(operation: Operation) -> World:
            root, copy = shelf / operation.name / "repo", shelf / operation.name / "copy"
            if not copy.exists():
                world = World.make(root)
                for key, value in FRESH.items():
                    world.git("config", key, value)
                with without_heartbeat_daemon(world):
                    operation.prepare(world)
                wait_until(lambda: not is_at_work(root))  # a copy must not meet a deletion
                shutil.copytree(shelf / operation.name / "repo", copy, symlinks=True)
            else:
                wait_until(lambda: not is_at_work(root))  # of the test before
                shutil.rmtree(root)
                shutil.copytree(copy, root, symlinks=True)
            world = World(root)
            stack.enter_context(without_heartbeat_daemon(world))
            return world

        yield prepare


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Return a repository that must be sound, without an open operation, when the test ends."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    made = World.make(tmp_path / "repo")
    with without_heartbeat_daemon(made):
        yield made
        assert made.query("SELECT kind FROM operations WHERE status = 'open'") == []
        made.require_sound()
