"""When a run's tokens were reported: a JSON text of [beginning of a quarter of an hour, tokens]."""

from __future__ import annotations

import json

QUARTER_MS = 900_000  # every time zone's hours begin with one


def read_times(text: str) -> list[tuple[int, int]]:
    """Return the tokens of each quarter of an hour, oldest first; another program's text has none.

    Times are in ms.
    """
    try:
        return [(int(start), int(tokens)) for start, tokens in json.loads(text)]
    except (ValueError, TypeError):
        return []


def add_tokens(text: str, tokens: int, now: int) -> str:
    """Return the text with tokens that were reported at a time; a corrected sum adds none."""
    if tokens <= 0:
        return text
    quarter = now - now % QUARTER_MS
    times = dict(read_times(text))
    times[quarter] = times.get(quarter, 0) + tokens
    return json.dumps(sorted(times.items()), separators=(",", ":"))
