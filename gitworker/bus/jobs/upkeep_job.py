"""Start the daily upkeep as a background job. Every command reads one row and imports no more.

The row in `meta` is moved by compare-and-set, so that only one of many commands starts the job.
"""

from __future__ import annotations

from gitworker import clock
from gitworker.processes.jobs import start_job
from gitworker.store.messages.upkeep import (
    claim_upkeep,
    find_last_upkeep,
    record_first_upkeep,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.store.api import Store

DAY_MS = 24 * 60 * 60 * 1000


def start_upkeep_job(store: Store, common_dir: str) -> bool:
    """Start the upkeep job if the last one began a day ago; return whether it was started.

    The first call in a repository only notes the time, since nothing there is old.
    """
    now = clock.now_ms()
    with store.read() as reader:
        last_ms = find_last_upkeep(reader)
    if last_ms is None:
        record_first_upkeep(store, now=now)
        return False
    if abs(now - last_ms) < DAY_MS:  # a time in the future: the clock was set back
        return False
    if not claim_upkeep(store, now=now, seen=last_ms):
        return False
    start_job("upkeep", common_dir, low_priority=True)
    return True
