"""The versions of a fleet's schema, which are those of bus.db, and the way from each to the next.

A new schema is made at the version of bus.db. The first machine with a newer program that sees an
older schema migrates it, under the fleet's lock; machines with an older program are refused then.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from gitworker.store.postgres.schema import PAYLOAD_INDEX

_HERE = os.path.dirname(__file__)


class Migration(NamedTuple):
    """The statements that bring a schema of the version before to this one."""

    version: int
    text: str


def _text(name: str) -> str:
    with open(f"{_HERE}/{name}", encoding="utf-8") as file:
        return file.read()


# The first version that fleets have had needs no statements. A new version of bus.db needs a line:
# its statements in PostgreSQL's dialect; a new guard is the text that `rules_dialect` makes of it.
MIGRATIONS = (
    Migration(9, ""),
    Migration(
        10,
        "ALTER TABLE windows ADD COLUMN machine TEXT, ADD COLUMN offer TEXT;"
        " CREATE INDEX idx_windows_offered ON windows (id) WHERE offer IS NOT NULL",
    ),
    Migration(11, _text("migration_11.sql")),
    Migration(
        12,
        f"ALTER TABLE machines ADD COLUMN needs_from BIGINT NOT NULL DEFAULT 0; {PAYLOAD_INDEX}",
    ),
)
