"""The data that the operations of `spawn` record; importing all other classes takes 2 ms more."""

from typing import NamedTuple

from gitworker.model.ids import Branch, Oid


class SpawnData(NamedTuple):
    """A worktree that is made at `path`, its new `branch` at `base`; `pool` is its pool."""

    branch: Branch
    base: Oid
    path: str
    pool: str | None = None


class SetupData(NamedTuple):
    """The process that runs the setup commands of a new worktree, and the place it runs at."""

    pid: int
    start: str | None
    host: str | None
    boot: str | None
    pid_ns: str | None = None
