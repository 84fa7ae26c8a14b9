"""Settling before a command looks or acts: what was killed is ended, what is due is applied.

Light, since every command passes here: what does the work is imported when there is work.
"""

from typing import NamedTuple

from gitworker.bus.export import TRANSITIONS
from gitworker.errors import GitWorkerError
from gitworker.session import Session
from gitworker.store.operations import Operation, unfinished_operations
from gitworker.store.workers import Worker
from gitworker.workers.sweep import sweep


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


def settle(session: Session) -> tuple[Settled, list[Worker] | None]:
    """End interrupted acts, tell what was not told, apply what is due.

    Returns what became of the acts, and all workers as they stand then (None: read them anew). An
    act that cannot be ended now stops nobody here: it is for the caller to tell.
    """
    with session.store.read() as reader:
        pending = bool(unfinished_operations(reader))
        untold = bool(reader.rows("exports.untold_workers", log=TRANSITIONS))
    settled = Settled([], [])
    if pending or untold:
        from gitworker.workers.recover import recover_all  # 25 ms, only after a crash

        settled = recover_all(session)
    return settled, sweep(session).workers
