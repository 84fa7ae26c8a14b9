"""The indexed text of a message, the search expression and the snippet. Pure: text in, text out."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from gitworker.errors import Invalid

WORDS_MAX = 50
TEXT_MAX = 256 * 1024  # characters of a large payload that are indexed
BEFORE = 40  # characters of a snippet before the word
WIDTH = 120


def match_expression(words: Sequence[str]) -> str:
    """Return the words as an FTS5 expression in which only a final `*` is an operator.

    All arguments must occur; several words in one argument are a phrase. Raises Invalid if there is
    no word.
    """
    if len(words) > WORDS_MAX:
        raise Invalid(f"{len(words)} words are too many; {WORDS_MAX} are allowed")
    wanted = [word.replace("\0", " ") for word in words]
    wanted = [word for word in wanted if any(map(str.isalnum, word))]
    if not wanted:
        raise Invalid(
            "the query has no word: a word contains a letter or a digit",
            "git worker msg search login 'exit status' pars*",
            code="usage",
        )
    try:
        "".join(wanted).encode()
    except UnicodeEncodeError:
        raise Invalid("the words are not valid UTF-8", code="usage") from None
    return " AND ".join(_term(word) for word in wanted)


def searchable(fields: Sequence[str | None], payload: str | None) -> str:
    """Return the indexed text of a message: its fields, then its payload's keys and values.

    A payload that is not JSON, or very large, is indexed as it is, up to TEXT_MAX.
    """
    parts = [field for field in fields if field]
    if payload is not None:
        parts.append(plain_text(payload))
    return "\n".join(parts).encode("utf-8", "replace").decode()


def plain_text(payload: str) -> str:
    """Return the keys and values of a JSON text without quotes and escapes."""
    if len(payload) <= TEXT_MAX:
        try:
            return " ".join(_leaves(json.loads(payload)))
        except (ValueError, RecursionError):
            pass
    return payload[:TEXT_MAX]


def snippet(text: str, words: Sequence[str]) -> str:
    """Return one line of a text around the first occurrence of one of the words."""
    flat = " ".join(text.split())
    lowered = flat.lower()
    found = [lowered.find(word.rstrip("*").lower()) for word in words if word.rstrip("*")]
    at = min((place for place in found if place >= 0), default=0)
    start = max(0, at - BEFORE)
    part = flat[start : start + WIDTH]
    return ("…" if start else "") + part + ("…" if start + WIDTH < len(flat) else "")


def _term(word: str) -> str:
    is_prefix = word.endswith("*")
    quoted = word.rstrip("*").replace('"', '""')
    return f'"{quoted}"' + ("*" if is_prefix else "")


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)
