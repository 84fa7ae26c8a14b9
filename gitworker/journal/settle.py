"""Settling before a command looks or acts: what was killed is ended, what is due is applied.

Light, since every command passes here: what does the work is imported when there is work.
"""

from gitworker.bus.files.export import TRANSITIONS
from gitworker.journal.settled import Settled
from gitworker.journal.sweep import sweep
from gitworker.session import Session
from gitworker.store.operations import unfinished_operations
from gitworker.store.workers import Worker


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
        from gitworker.journal.recover import recover_all  # 25 ms, only after a crash

        settled = recover_all(session)
    return settled, sweep(session).workers
