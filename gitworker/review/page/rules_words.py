"""Which lines replace which, and which words of them differ. Pure."""

from __future__ import annotations

import re
from itertools import takewhile, zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
LENGTH_AT_MOST = 500
SIMILAR = 0.5  # lines with less in common are not versions of each other
DEL, ADD = "del", "add"

Range = tuple[int, int]


def changed_words(lines: Sequence[tuple[str, str]]) -> dict[int, Range]:
    """Return the range of characters that differs, by the number of the line.

    `lines` are kind and text. A run of deleted lines is compared with the added lines behind it,
    the first with the first, and so on. A line that has no similar one on the other side has no
    ranges.
    """
    found: dict[int, Range] = {}
    for old, new in pairs([kind for kind, _ in lines]):
        both = _compare(lines[old][1], lines[new][1])
        if both is not None:
            found[old], found[new] = both
    return found


def split_at(text: str, start: int, end: int) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a text that are not empty, with whether each is within the range."""
    start, end = (min(max(at, 0), len(text)) for at in (start, end))
    parts = ((False, text[:start]), (True, text[start:end]), (False, text[end:]))
    yield from (one for one in parts if one[1])


def pairs(kinds: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of each deleted line and of the added line that it is compared with."""
    for old, new in side_by_side(kinds):
        if old is not None and new is not None and old != new:
            yield old, new


def side_by_side(kinds: Sequence[str]) -> Iterator[tuple[int | None, int | None]]:
    """Yield the numbers of the lines of each row of two columns; None is an empty place.

    A line that is neither deleted nor added is on both sides.
    """
    at = 0
    while at < len(kinds):
        middle = _end_of_run(kinds, at, DEL)
        end = _end_of_run(kinds, middle, ADD)
        if end == at:
            yield at, at
        else:
            yield from zip_longest(range(at, middle), range(middle, end))
        at = max(end, at + 1)


def _end_of_run(kinds: Sequence[str], at: int, kind: str) -> int:
    while at < len(kinds) and kinds[at] == kind:
        at += 1
    return at


def _compare(old: str, new: str) -> tuple[Range, Range] | None:
    """Return the range between the words that both lines begin with and end with."""
    if max(len(old), len(new)) > LENGTH_AT_MOST:
        return None
    before, after = WORD.findall(old), WORD.findall(new)
    start = _common(before, after)
    first = sum(map(len, before[:start]))
    end = _common(before[start:][::-1], after[start:][::-1])
    last = sum(map(len, before[len(before) - end :]))
    if 2 * (first + last) < SIMILAR * (len(old) + len(new)):
        return None
    return (first, len(old) - last), (first, len(new) - last)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of words that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
