"""Queries by name, read from the .sql files beside this module.

A file `<room>.sql` holds blocks that begin with `-- name: <query> — <purpose>`.
"""

import os

_ROOMS: dict[str, dict[str, str]] = {}
_HERE = os.path.dirname(__file__)
_MARK = "-- name: "


def query_text(name: str) -> str:
    """Return the SQL of `<room>.<query>`; KeyError for a name that does not exist."""
    room, _, query = name.partition(".")
    if room not in _ROOMS:
        _ROOMS[room] = load_room(room)
    return _ROOMS[room][query]


def load_room(room: str) -> dict[str, str]:
    """Return every query of a room's file."""
    with open(f"{_HERE}/{room}.sql", encoding="utf-8") as file:
        blocks = file.read().split(_MARK)[1:]
    queries = {}
    for block in blocks:
        head, _, body = block.partition("\n")
        queries[head.split()[0]] = body.strip()
    return queries
