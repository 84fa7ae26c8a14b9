"""Queries by name, translated from those of SQLite when they are first used."""

from __future__ import annotations

import os
from functools import cache

from gitworker.store.postgres.rules_dialect import query_of
from gitworker.store.sqlite.queries import parse_queries
from gitworker.store.sqlite.queries import query_text as sqlite_text

_HERE = os.path.dirname(__file__)


@cache
def query_text(name: str) -> str:
    """Return the SQL of `<room>.<query>`; raise KeyError if it does not exist."""
    own = _own_texts().get(name)
    return query_of(own if own is not None else sqlite_text(name))


@cache
def _own_texts() -> dict[str, str]:
    """Return the queries that have a text of their own in this dialect."""
    with open(f"{_HERE}/queries.sql", encoding="utf-8") as file:
        return parse_queries(file.read())
