"""A disk that is full, or read-only: a clear error, nothing acknowledged lost, nothing stuck."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.app import DIRECTORIES
from gitworker.bus import Bus, open_bus
from gitworker.errors import Unavailable
from gitworker.paths import StatePaths
from gitworker.store.sqlite.migrate import create_database
from tests.store.support import foreign

SIZE_KIB = 4096


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_KIB}k", "none", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this user cannot mount a small tmpfs")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def small(disk: Path) -> StatePaths:
    """A state directory with a database on that disk."""
    root = disk / "worker-state"
    for name in DIRECTORIES:
        (root / name).mkdir(parents=True)
    create_database(str(root / "bus.db")).close()
    return StatePaths(str(root))


def fill(disk: Path) -> Path:
    """Take all the space that is left."""
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return filler


def publish_on(bus: Bus, kept: list[str]) -> None:
    """Publish until it fails, keeping the ids of what was acknowledged."""
    while len(kept) < 5000:
        kept.append(bus.publish("x-note", "x" * 3000))


def test_a_full_disk(disk: Path, small: StatePaths) -> None:
    """What cannot be written is refused, what was acknowledged stays, and space lets it go on."""
    with open_bus(small.root, agent="hq") as bus:
        kept = [bus.publish("x-note", "x" * 3000)]
        filler = fill(disk)
        with pytest.raises(Unavailable) as caught:
            publish_on(bus, kept)
        assert (caught.value.code, caught.value.hint) == ("disk", "df -h")
        with pytest.raises(Unavailable, match="cannot keep the payload"):
            bus.publish("x-note", "y" * 5000)
        assert [m["id"] for m in bus.poll(5000)] == kept  # reading needs no space
        filler.unlink()
        kept.append(bus.publish("x-note", "y" * 5000))
        assert [m["id"] for m in bus.poll(5000)] == kept
    assert foreign(small.database, "PRAGMA integrity_check") == [[["ok"]]]


def test_a_read_only_disk(disk: Path, small: StatePaths) -> None:
    """A disk that turned read-only is named, and works again when it is writable again."""
    with open_bus(small.root, agent="hq") as bus:
        kept = bus.publish("x-note")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        with pytest.raises(Unavailable) as caught, open_bus(small.root, agent="hq") as bus:
            bus.publish("x-note")
        assert caught.value.code == "read_only"
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    with open_bus(small.root, agent="hq") as bus:
        assert [m["id"] for m in bus.poll()] == [kept]
