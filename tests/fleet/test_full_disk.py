"""A machine of a fleet whose disk is full."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.errors import Unavailable
from gitworker.store.api import Store
from gitworker.store.workers import add_worker
from tests.store.disks import fill, small_disk
from tests.store.machines import Machine


@pytest.fixture
def small(tmp_path: Path, location: str) -> Iterator[Machine]:
    """A machine on a small disk of its own."""
    with small_disk(tmp_path / "disk", size_kib=8192) as place:
        machine = Machine(place / "worker-state")
        machine.join(location, "small")
        yield machine
        machine.kill_link()


def add_workers(store: Store, kept: list[str]) -> None:
    """Add workers until it fails, and keep the names of those that were added."""
    while len(kept) < 1000:
        with store.write() as writer:
            add_worker(writer, f"worker-{len(kept)}", 1)
        kept.append(f"worker-{len(kept)}")


def test_a_change_that_does_not_fit(small: Machine, tmp_path: Path) -> None:
    """The error says whether the fleet has the change, which then arrives once there is space."""
    kept: list[str] = []
    with small.open() as store:
        filler = fill(tmp_path / "disk")
        with pytest.raises(Unavailable) as caught:
            add_workers(store, kept)
        assert (caught.value.code, caught.value.hint) == ("disk", "df -h")
        filler.unlink()
    if "the fleet has the change" in caught.value.message:
        kept.append(f"worker-{len(kept)}")
    small.sync()
    found = [name for (name,) in small.query("SELECT worker_id FROM workers")]
    assert sorted(found) == sorted(kept)
