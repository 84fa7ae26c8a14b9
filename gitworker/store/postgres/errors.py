"""Errors of PostgreSQL as ours, by their SQLSTATE."""

from __future__ import annotations

import psycopg

from gitworker.errors import Conflict, GitWorkerError, Internal, Invalid, Unavailable
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
    if state == LOCK_TIMEOUT:
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
        return Unavailable(f"PostgreSQL: {text}", DOCTOR, code="server_unavailable")
    return Internal(f"PostgreSQL: {text}")
