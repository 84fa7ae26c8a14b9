"""Small disks for a test: to be filled, and to turn read-only."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, *, size_kib: int, inodes: int | None = None) -> Iterator[Path]:
    """Mount a small file system at a new directory; skip the test if that is not allowed.

    It holds `inodes` files and directories; None: as many as fit.
    """
    place.mkdir()
    options = f"size={size_kib}k" + (f",nr_inodes={inodes}" if inodes else "")
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


def use_inodes(disk: Path, *, free: int) -> Path:
    """Create empty files until only some inodes are free; return the directory of these files."""
    used = disk / "inodes"
    used.mkdir()
    made: list[Path] = []
    try:
        while True:
            made.append(used / str(len(made)))
            made[-1].touch()
    except OSError:
        for file in made[-1 - free : -1]:
            file.unlink()
        return used


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Turn a disk read-only for a while; nothing on it may be open for writing."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
