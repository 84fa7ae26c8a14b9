"""Helpers for the tests of claims: a bus, clocks that tests set, and expected errors."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitworker.app import DIRECTORIES
from gitworker.bus.transitions import move_task
from gitworker.claims import Claims
from gitworker.errors import GitWorkerError
from gitworker.model.task import TaskEvent
from gitworker.paths import StatePaths
from gitworker.store.sqlite.database import Database
from gitworker.store.sqlite.migrate import create_database
from gitworker.store.tasks import require_stored_task

LEASE_MS = 60_000
START_MS = 1_700_000_000_000


@dataclass
class Clocks:
    """Clock values; `pass_ms` moves both clocks, a jump only the wall clock."""

    now_ms: int = START_MS
    mono_ms: int = 5_000_000
    boot_id: str = "this-boot"
    host: str = "this-host"

    def pass_ms(self, ms: int) -> None:
        """Move both clocks forward."""
        self.now_ms += ms
        self.mono_ms += ms

    def jump_ms(self, ms: int) -> None:
        """Set the wall clock forward or back."""
        self.now_ms += ms


@dataclass(frozen=True)
class Scene:
    """A bus."""

    paths: StatePaths
    store: Database

    @classmethod
    def make(cls, root: Path) -> "Scene":
        """Make a state directory outside any repository, with its database."""
        for name in DIRECTORIES:
            (root / name).mkdir(parents=True)
        paths = StatePaths(str(root))
        return cls(paths, create_database(paths.database))

    def of(self, holder: str) -> Claims:
        """Return the claims of a holder."""
        return Claims(self.store, self.paths, holder=holder)

    def add_task(self, task: str, *events: TaskEvent) -> None:
        """Create a task without a worker, and apply the events to it."""
        with self.store.write() as writer:
            writer.run(
                "tasks.insert", task=task, title="", requires_approval=0, max_retries=3, now=1
            )
            move_task(writer, require_stored_task(writer, task), events, actor="hq")

    def claims(self) -> list[tuple[str, str, int, int]]:
        """Return name, holder, epoch and the milliseconds left of every claim."""
        everything = self.of("hq").everybodys()
        return [(one.name, one.holder, one.epoch, one.left_ms) for one in everything]


@contextlib.contextmanager
def refused(code: str, text: str = "") -> Iterator[None]:
    """Expect an error with that code, and with that text in its message."""
    with pytest.raises(GitWorkerError) as caught:
        yield
    assert caught.value.code == code, caught.value
    assert text in caught.value.message
