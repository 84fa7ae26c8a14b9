"""Small disks for a test: to be filled, and to turn read-only."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, *, size_kib: int) -> Iterator[Path]:
    """Mount a small file system at a new directory; skip the test if that is not allowed."""
    place.mkdir()
    options = f"size={size_kib}k"
    mount = ["mount", "-t", "tmpfs", "-o", options, "none", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this user cannot mount a small tmpfs")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> Path:
    """Fill the remaining space with one file."""
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return filler


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Turn a disk read-only for a while; nothing on it may be open for writing."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
