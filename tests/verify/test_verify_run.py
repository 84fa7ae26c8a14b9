"""The end of a run: the last message of the shell is always read."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitworker.verify.run_processes import RunProcesses
from gitworker.verify.verify_run import CommandRun


class Place:
    """A directory in which commands run."""

    def __init__(self, tree: str) -> None:
        self.tree = tree

    def record(self, family: RunProcesses) -> None:
        """Remember who leads."""
        self.leader = family.leader

    def forget(self) -> None:
        """Forget nothing."""


@pytest.fixture
def log(tmp_path: Path) -> Iterator[int]:
    """Return the descriptor of a log file."""
    descriptor = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT, 0o600)
    yield descriptor
    os.close(descriptor)


def test_a_shell_that_ends_between_two_polls(tmp_path: Path, log: int) -> None:
    """Commands that passed did pass, even if their shell ended before its message was read."""
    env = {"PATH": os.environ["PATH"]}
    place = Place(str(tmp_path))
    run = CommandRun(place, log, commands=("true",), env=env, timeout_s=60)
    os.waitid(os.P_PID, place.leader, os.WEXITED | os.WNOWAIT)
    assert run.end().reason == ""
