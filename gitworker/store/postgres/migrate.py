"""Bring the schema of a fleet forward: once, by the first machine that sees an older one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.errors import Unavailable
from gitworker.store.postgres.errors import DENIED, require_same_version

if TYPE_CHECKING:
    from gitworker.store.postgres.server import FleetServer

_FIND = "SELECT value FROM meta WHERE key = 'gitworker_schema'"
_SET = "UPDATE meta SET value = %(version)s WHERE key = 'gitworker_schema'"


def bring_forward(server: FleetServer) -> None:
    """Migrate an older schema in a transaction of its own; raise Unavailable for a newer one.

    Does nothing for a role that may not read it, which each command reports.
    """
    try:
        found_older = is_older(server)
    except Unavailable as error:
        if error.code != DENIED:
            raise
        return
    if found_older:
        server.begin_alone()
        try:
            migrate(server)
            server.run(f"NOTIFY {server.location.quoted_schema}; COMMIT")
        except BaseException:
            server.cancel()
            raise


def is_older(server: FleetServer) -> bool:
    """Return whether a schema has an older version; raise Unavailable for one that is unknown."""
    found = _version(server)
    known = [str(one.version) for one in server.migrations]
    if found not in known:
        require_same_version(found, server.version, server.location.schema)
    return found != known[-1]


def migrate(server: FleetServer) -> None:
    """Migrate an older schema, in the caller's transaction, which has the lock."""
    if not is_older(server):
        return
    found = int(_version(server))
    for one in server.migrations:
        if one.version > found:
            server.run(one.text)
    server.run(_SET, {"version": str(server.version)})


def _version(server: FleetServer) -> str:
    found = server.run(_FIND)
    return str(found[0][0]) if found else "none"
