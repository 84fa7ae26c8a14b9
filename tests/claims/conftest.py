"""Fixtures for the tests of claims: a bus outside any repository, and clocks that tests set."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.claims.scene import Clocks, Scene
from tests.workers.world import World, without_heartbeat_daemon


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """A bus without a repository, with the real clocks."""
    made = Scene.make(tmp_path / "worker-state")
    yield made
    made.store.close()


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    """Clocks that only the test moves."""
    turned = Clocks()
    monkeypatch.setattr("gitworker.clock.now_ms", lambda: turned.now_ms)
    monkeypatch.setattr("gitworker.clock.monotonic_ms", lambda: turned.mono_ms)
    monkeypatch.setattr("gitworker.clock.boot_id", lambda: turned.boot_id)
    monkeypatch.setattr("gitworker.clock.host_name", lambda: turned.host)
    return turned


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A repository without workers, whose hooks start no drain."""
    monkeypatch.setenv("GITWORKER_HOOKS", "off")
    made = World.make(tmp_path / "repo")
    with without_heartbeat_daemon(made):
        yield made
        made.require_sound()
