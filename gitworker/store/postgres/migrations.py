"""The versions of a fleet's schema, which are those of bus.db, and the way from each to the next.

A new schema is made at the version of bus.db. The first machine with a newer program that sees an
older schema migrates it, under the fleet's lock; machines with an older program are refused then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.errors import Unavailable
from gitworker.store.postgres.errors import DENIED, require_same_version

if TYPE_CHECKING:
    from gitworker.store.postgres.server import FleetServer

_FIND = "SELECT value FROM meta WHERE key = 'gitworker_schema'"
_SET = "UPDATE meta SET value = %(version)s WHERE key = 'gitworker_schema'"


class Migration(NamedTuple):
    """The statements that bring a schema of the version before to this one."""

    version: int
    text: str


# The first version that fleets have had needs no statements. A new version of bus.db needs a line:
# its statements in PostgreSQL's dialect; a new guard is the text that `rules_dialect` makes of it.
MIGRATIONS = (Migration(9, ""),)


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
