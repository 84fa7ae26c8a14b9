"""Fixtures for the tests of our hooks."""

import shutil
from pathlib import Path

import pytest

from tests.repo.hooks.support import Seat, make_seat

DIALECTS = {
    "sh": ("sh",),
    "dash": ("dash",),
    "bash": ("bash", "--posix"),
    "busybox": ("busybox", "sh"),
    "mksh": ("mksh",),
}


@pytest.fixture
def seat(repository: Path, tmp_path: Path) -> Seat:
    """A worktree with our hooks installed, whose drain takes the ring off at once."""
    made = make_seat(tmp_path, repository)
    made.install()
    return made


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The command of a POSIX shell; skips where this machine lacks it."""
    command = DIALECTS[request.param]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    return command
