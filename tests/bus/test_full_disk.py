"""A disk that is full, or read-only: a clear error, nothing acknowledged lost, nothing stuck."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.app import DIRECTORIES
from gitworker.bus import Bus, open_bus
from gitworker.errors import Unavailable
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import create_database
from tests.store.disks import fill, read_only, small_disk
from tests.store.support import foreign


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small separate file system."""
    with small_disk(tmp_path / "disk", size_kib=4096) as place:
        yield place


@pytest.fixture
def small(disk: Path) -> StatePaths:
    """A state directory with a database on that disk."""
    root = disk / "worker-state"
    for name in DIRECTORIES:
        (root / name).mkdir(parents=True)
    create_database(str(root / "bus.db")).close()
    return StatePaths(str(root))


def publish_on(bus: Bus, kept: list[str]) -> None:
    """Publish until it fails, and keep the ids of the acknowledged messages."""
    while len(kept) < 5000:
        kept.append(bus.publish("x-note", "x" * 3000))


def test_a_full_disk(disk: Path, small: StatePaths) -> None:
    """A failed write is refused, acknowledged messages stay, and free space ends the refusals."""
    with open_bus(small.root, agent="hq") as bus:
        kept = [bus.publish("x-note", "x" * 3000)]
        filler = fill(disk)
        with pytest.raises(Unavailable) as caught:
            publish_on(bus, kept)
        assert (caught.value.code, caught.value.hint) == ("disk", "df -h")
        with pytest.raises(Unavailable, match="cannot store the payload"):
            bus.publish("x-note", "y" * 5000)
        assert [m["id"] for m in bus.poll(5000)] == kept  # reading needs no space
        filler.unlink()
        kept.append(bus.publish("x-note", "y" * 5000))
        assert [m["id"] for m in bus.poll(5000)] == kept
    assert foreign(small.database, "PRAGMA integrity_check") == [[["ok"]]]


def test_a_read_only_disk(disk: Path, small: StatePaths) -> None:
    """The error names a disk that turned read-only; once writable again, the bus works."""
    with open_bus(small.root, agent="hq") as bus:
        kept = bus.publish("x-note")
    with read_only(disk):
        with pytest.raises(Unavailable) as caught, open_bus(small.root, agent="hq") as bus:
            bus.publish("x-note")
        assert caught.value.code == "read_only"
    with open_bus(small.root, agent="hq") as bus:
        assert [m["id"] for m in bus.poll()] == [kept]
