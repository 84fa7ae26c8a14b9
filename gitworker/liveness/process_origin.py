"""The origin of a pid: the host, boot and PID namespace in which it identifies a process.

A sandbox or a container has its own PID namespace and cannot see processes outside it. So a process
of another origin is unknown, never dead. Imports little, since it is used before an agent starts.
"""

from __future__ import annotations

from gitworker import clock
from gitworker.processes.table import find_pid_namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.model.ids import Origin
    from gitworker.store.records.runs import Run
    from gitworker.store.workers import Worker


def this_origin() -> Origin:
    """Return our own host, boot and PID namespace."""
    return (clock.host_name(), clock.boot_id(), find_pid_namespace())


def origin_of(row: Run | Worker) -> Origin:
    """Return the origin of the pid in a stored row."""
    return (row.host, row.boot_id, row.pid_ns)


def is_of_earlier_boot(origin: Origin) -> bool:
    """Return whether a process of an origin ended with an earlier boot of this machine."""
    (host, boot, _), (our_host, our_boot, _) = origin, this_origin()
    return None not in (host, boot, our_boot) and host == our_host and boot != our_boot


def is_local(origin: Origin, here: Origin | None = None) -> bool:
    """Return whether pids of an origin can be looked up here; an unknown part does not match.

    `here` is our own origin; if it is not given, it is read now.
    """
    return None not in origin and origin == (here or this_origin())
