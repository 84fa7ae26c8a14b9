"""The result of settling: interrupted operations that ended, and those that are still open."""

from typing import NamedTuple

from gitworker.errors import GitWorkerError
from gitworker.store.operations import Operation


class Unfinished(NamedTuple):
    """An interrupted act that can neither be finished nor taken back now, and why not."""

    operation: Operation
    error: GitWorkerError


class Settled(NamedTuple):
    """What became of interrupted acts: those that were ended, and those that are left open.

    `untold` is why views and logs are not up to date, where they are not.
    """

    ended: list[Operation]
    left: list[Unfinished]
    untold: GitWorkerError | None = None
