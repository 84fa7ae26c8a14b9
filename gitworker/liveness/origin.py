"""The origin of a pid: the host, boot and PID namespace in which it identifies a process.

A sandbox or a container has its own PID namespace and cannot see processes outside it. So a process
of another origin is unknown, never dead. Imports little, since it is used before an agent starts.
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
    """Return the origin of the pid in a stored row."""
    return (_text(row["host"]), _text(row["boot_id"]), _text(row["pid_ns"]))


def is_local(origin: Origin, here: Origin | None = None) -> bool:
    """Return whether pids of an origin can be looked up here; an unknown part does not match.

    `here` is our own origin; if it is not given, it is read now.
    """
    return None not in origin and origin == (here or this_origin())


def origin_columns() -> dict[str, str | None]:
    """Return our origin as the columns that are stored beside a pid."""
    host, boot_id, pid_ns = this_origin()
    return {"host": host, "boot_id": boot_id, "pid_ns": pid_ns}


def _text(value: object) -> str | None:
    return None if value is None else str(value)
