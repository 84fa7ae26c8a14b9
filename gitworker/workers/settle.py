"""Settling before a command looks or acts: what was killed is ended, what is due is applied.

Light, since every command passes here: what does the work is imported when there is work.
"""

from gitworker.bus.export import TRANSITIONS
from gitworker.session import Session
from gitworker.store.operations import Operation, unfinished_operations
from gitworker.store.workers import Worker
from gitworker.workers.sweep import sweep


def settle(session: Session) -> tuple[list[Operation], list[Worker] | None]:
    """End interrupted acts, tell what was not told, apply what is due.

    Returns the acts that were ended, and all workers as they stand then (None: read them anew).
    """
    with session.store.read() as reader:
        pending = bool(unfinished_operations(reader))
        untold = bool(reader.rows("exports.untold_workers", log=TRANSITIONS))
    finished: list[Operation] = []
    if pending or untold:
        from gitworker.workers.recover import recover_all  # 25 ms, only after a crash

        finished = recover_all(session)
    return finished, sweep(session).workers
