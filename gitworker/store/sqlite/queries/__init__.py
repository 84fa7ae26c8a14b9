"""Queries by name, read from the .sql files beside this module.

A file `<room>.sql` consists of blocks that begin with `-- name: <query> — <purpose>`.
"""

import os

_TEXTS: dict[str, str] = {}
_LOADED: set[str] = set()
_HERE = os.path.dirname(__file__)
_MARK = "-- name: "


def query_text(name: str) -> str:
    """Return the SQL of `<room>.<query>`; raise KeyError if it does not exist."""
    text = _TEXTS.get(name)
    if text is not None:
        return text
    room = name.partition(".")[0]
    if room not in _LOADED:
        _TEXTS.update({f"{room}.{query}": text for query, text in load_queries(room).items()})
        _LOADED.add(room)
    return _TEXTS[name]


def load_queries(room: str) -> dict[str, str]:
    """Return every query of a room's file."""
    with open(f"{_HERE}/{room}.sql", encoding="utf-8") as file:
        return parse_queries(file.read())


def parse_queries(text: str) -> dict[str, str]:
    """Return every query of a file's text."""
    blocks = text.split(_MARK)[1:]
    queries = {}
    for block in blocks:
        head, _, body = block.partition("\n")
        queries[head.split()[0]] = body.strip()
    return queries
