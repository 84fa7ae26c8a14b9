"""Settle before a command begins: end interrupted operations, apply changes that are due.

Every command runs this, so the modules that do the work are imported only if there is work.
"""

from gitworker.journal.settled import Settled
from gitworker.journal.sweep import sweep
from gitworker.session import Session
from gitworker.store.messages.log_positions import TRANSITIONS
from gitworker.store.operations import unfinished_operations
from gitworker.store.workers import Worker, unpublished_workers


def settle(session: Session) -> tuple[Settled, list[Worker] | None]:
    """End interrupted operations, publish unpublished views, apply changes that are due.

    Returns the result, and all workers as they are then (None: the caller must read them again).
    An operation that cannot be ended now raises nothing here; the caller reports it.
    """
    with session.store.read() as reader:
        pending = bool(unfinished_operations(reader))
        unpublished = bool(unpublished_workers(reader, TRANSITIONS))
    settled = Settled([], [])
    if pending or unpublished:
        from gitworker.journal.recover import recover_all  # 25 ms, only after a crash

        settled = recover_all(session)
    return settled, sweep(session).workers
