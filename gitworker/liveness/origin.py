"""Where a pid means something: one boot of one host, and one PID namespace there.

A sandbox or a container has a PID namespace of its own. From inside nothing outside can be seen, so
a process of another origin is unknown, never dead. Light: it is asked before an agent starts.
"""

from __future__ import annotations

from gitworker import clock, proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

Origin = tuple[str | None, str | None, str | None]  # host, boot id, PID namespace


def this_origin() -> Origin:
    """Return our own host, boot and PID namespace."""
    return (clock.host_name(), clock.boot_id(), proc.find_pid_namespace())


def origin_of(row: Mapping[str, object]) -> Origin:
    """Return where the pid of a stored row was recorded."""
    return (_text(row["host"]), _text(row["boot_id"]), _text(row["pid_ns"]))


def is_local(origin: Origin, here: Origin | None = None) -> bool:
    """Tell whether pids of an origin can be looked up here; a part that is not known is not ours.

    `here` is our own origin, read now if it is not given.
    """
    return None not in origin and origin == (here or this_origin())


def origin_columns() -> dict[str, str | None]:
    """Return our origin as the columns that are stored beside a pid."""
    host, boot_id, pid_ns = this_origin()
    return {"host": host, "boot_id": boot_id, "pid_ns": pid_ns}


def _text(value: object) -> str | None:
    return None if value is None else str(value)
