"""The location of a store on PostgreSQL: `postgresql://…#schema`, one schema per repository."""

from __future__ import annotations

from typing import NamedTuple

SCHEMES = ("postgresql://", "postgres://")
DEFAULT_SCHEMA = "gitworker"
NAME_MAX = 63  # PostgreSQL cuts longer names


class Location(NamedTuple):
    """A connection string of libpq, which may have a password, and a schema."""

    conninfo: str
    schema: str

    @property
    def quoted_schema(self) -> str:
        """Return the schema as an identifier of SQL."""
        return '"' + self.schema.replace('"', '""') + '"'


def parse_location(text: str) -> Location:
    """Return the parts of a location; raise Invalid if it is not one, or its schema too long.

    No error shows the location, since it may have a password.
    """
    from gitworker.errors import Invalid

    conninfo, _, schema = text.partition("#")
    schema = schema or DEFAULT_SCHEMA
    if not conninfo.startswith(SCHEMES):
        raise Invalid("a location on PostgreSQL begins with postgresql://")
    if len(schema.encode()) > NAME_MAX:
        raise Invalid(f"the schema {schema[:20]}… has more than {NAME_MAX} bytes")
    return Location(conninfo, schema)
