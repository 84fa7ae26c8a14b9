"""Errors of PostgreSQL as ours, by their SQLSTATE."""

from __future__ import annotations

import psycopg

from gitworker.errors import Conflict, GitWorkerError, Internal, Invalid, Refused, Unavailable
from gitworker.store.postgres.rules_dialect import REFUSED_STATE

CONFLICT = "conflict"
LOCK_TIMEOUT = "55P03"
DOCTOR = "git worker doctor"


def read_only() -> Unavailable:
    """Return the refusal of a write by a replica or a role that may only read."""
    return Unavailable("the PostgreSQL server only answers reads", DOCTOR, code="read_only")


def translated(error: psycopg.Error) -> GitWorkerError:
    """Return our error for one of PostgreSQL, with a hint."""
    state = error.sqlstate or ""
    text = (error.diag.message_primary or str(error)).strip().partition("\n")[0]
    if state == REFUSED_STATE:
        if text == CONFLICT:
            return Conflict(
                "another command changed this at the same time", "run the command again"
            )
        return Conflict(text)
    if state == LOCK_TIMEOUT or state.startswith("40"):  # the second: a deadlock with psql
        return Conflict("the database is busy", "run the command again", code="busy")
    if state == "25006":
        return read_only()
    if state == "42501":
        return Unavailable(f"PostgreSQL: {text}", DOCTOR, code="permission_denied")
    if state.startswith("53"):
        return Unavailable(f"PostgreSQL: {text}", DOCTOR, code="server_full")
    if isinstance(error, psycopg.DataError) and not state:
        return Invalid(f"the text has a NUL byte: {text}")
    if not state or state[:2] in ("08", "28", "3D", "57"):
        why = text.rpartition("failed: ")[2] or text  # without libpq's address of the server
        return Unavailable(f"PostgreSQL: {why}", DOCTOR, code="server_unavailable")
    return Internal(f"PostgreSQL: {text}")


def require_same_version(found: str, known: int, schema: str) -> None:
    """Raise Unavailable unless a schema has our version."""
    if found == str(known):
        return
    is_newer = found.isdigit() and int(found) > known
    raise Unavailable(
        f"the schema {schema} has version {found}; this gitworker knows {known}",
        "pip install --upgrade gitworker" if is_newer else "git worker doctor",
        code="newer_schema" if is_newer else "older_schema",
    )


def incomplete(table: str, found: int, wanted: int) -> Unavailable:
    """Return the error for a table of which not all rows have arrived."""
    return Unavailable(f"PostgreSQL has {found} of the {wanted} rows of {table}", DOCTOR)


def foreign_schema(schema: str, table: str) -> Refused:
    """Return the refusal of a schema with tables that are not ours."""
    return Refused(
        f"the schema {schema} has tables of another program, such as {table}: choose another one",
        code="foreign_schema",
    )
