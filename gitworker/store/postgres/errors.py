"""Errors of PostgreSQL as ours, by their SQLSTATE."""

from __future__ import annotations

import re

import psycopg

from gitworker.errors import BUSY, Conflict, GitWorkerError, Internal, Invalid, Refused, Unavailable
from gitworker.store.postgres.rules_dialect import REFUSED_STATE

CONFLICT = "conflict"
LOCK_TIMEOUT = "55P03"
SLEPT = "25P03"  # the server has ended a transaction in which nothing happened for too long
NEWER = "newer_schema"
DENIED, FULL = "permission_denied", "server_full"
SERVER_UNAVAILABLE = "server_unavailable"  # the code if the connection is lost or was not made
NO_TABLE = ("3F000", "42P01")  # so it is called, too, if a role may not use the schema
# An error of the connection itself has no SQLSTATE; the last one is PgBouncer's.
_FULL = re.compile(r"too many (connections|clients)|connection slots|no more connections")
DOCTOR = "git worker doctor"


def read_only() -> Unavailable:
    """Return the refusal of a write by a replica or a role that may only read."""
    return Unavailable("the PostgreSQL server only answers reads", DOCTOR, code="read_only")


def grant_of(schema: str, role: str) -> str:
    """Return the hint that gives a role all rights in a schema that exists."""
    to = f"{_quoted(schema)} TO {_quoted(role)}"
    return (
        f"an administrator runs: GRANT ALL ON SCHEMA {to}; GRANT ALL ON ALL TABLES IN SCHEMA {to}"
    )


def no_rights(schema: str, role: str, *, exists: bool) -> Unavailable:
    """Return the refusal of a role that may not make a fleet's tables in a schema."""
    hint = grant_of(schema, role)
    if not exists:
        names = f"{_quoted(schema)} AUTHORIZATION {_quoted(role)}"
        hint = f"an administrator runs: CREATE SCHEMA {names}"
    what = "make tables in" if exists else "make"
    return Unavailable(
        f"PostgreSQL: the role {role} may not {what} the schema {schema}", hint, code=DENIED
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def translated(error: psycopg.Error, *, grant: str = DOCTOR) -> GitWorkerError:
    """Return our error for one of PostgreSQL, with a hint: for missing rights, `grant`."""
    state = error.sqlstate or ""
    text = (error.diag.message_primary or str(error)).strip().partition("\n")[0]
    if state == REFUSED_STATE:
        if text == CONFLICT:
            return Conflict(
                "another command changed this at the same time", "run the command again"
            )
        return Conflict(text)
    if state == LOCK_TIMEOUT or state.startswith("40"):  # the second: a deadlock with psql
        return Conflict("the database is busy", "run the command again", code=BUSY)
    if state == "25006":
        return read_only()
    if state in NO_TABLE:
        text += "; the schema is missing, or the role may not use it"
    if state == "42501" or state in NO_TABLE:
        return Unavailable(f"PostgreSQL: {text}", grant, code=DENIED)
    if state.startswith("53"):
        return Unavailable(f"PostgreSQL: {text}", DOCTOR, code=FULL)
    if isinstance(error, psycopg.DataError) and not state:
        return Invalid(f"the text has a NUL byte: {text}")
    if not state or state == SLEPT or state[:2] in ("08", "28", "3D", "57"):
        why = text.rpartition("failed: ")[2] or text  # without libpq's address of the server
        why = why.removeprefix("FATAL:").strip()
        code = FULL if _FULL.search(why) else SERVER_UNAVAILABLE
        return Unavailable(f"PostgreSQL: {why}", DOCTOR, code=code)
    return Internal(f"PostgreSQL: {text}")


def require_same_version(found: str, known: int, schema: str) -> None:
    """Raise Unavailable unless a schema has our version."""
    if found == str(known):
        return
    is_newer = found.isdigit() and int(found) > known
    raise Unavailable(
        f"the schema {schema} has version {found}; this gitworker knows {known}",
        "pip install --upgrade gitworker" if is_newer else "git worker doctor",
        code=NEWER if is_newer else "older_schema",
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
