"""The scripts that make a repository's schema, translated from those of SQLite."""

from __future__ import annotations

import os

from gitworker.store.postgres.rules_dialect import Guard, guards_of, schema_of
from gitworker.store.sqlite.migrate import FREEZE, read_schema

_HERE = os.path.dirname(__file__)


def tables_script() -> str:
    """Return the script that makes functions, tables and first rows."""
    with open(f"{_HERE}/functions.sql", encoding="utf-8") as file:
        functions = file.read()
    return ";\n".join([functions.strip().removesuffix(";"), *schema_of(read_schema())])


def guards_script() -> str:
    """Return the script that makes all triggers."""
    return ";\n".join(text for guard in guard_statements().values() for text in guard)


def guard_statements() -> dict[str, Guard]:
    """Return the triggers by name."""
    return guards_of(f"{read_schema()}\n{FREEZE.strip()}")
