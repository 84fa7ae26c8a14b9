"""Whether a supervised agent lives. Light: it is asked before an agent starts."""

from __future__ import annotations

from gitworker import clock, proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.store.api import Row


def living_agent(run: Row | None) -> int | None:
    """Return the process of a run that nobody ended, where it runs on this machine."""
    if run is None or run["ended_at_ms"] is not None or run["pid"] is None:
        return None
    if run["host"] != clock.host_name() or run["boot_id"] != clock.boot_id():
        return None
    start = proc.find_start(run["pid"])
    return int(run["pid"]) if start is not None and start == run["pid_start"] else None
