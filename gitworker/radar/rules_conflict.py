"""The areas of a conflict, from git's merged text, and the kind of a conflict in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

CONTEXT = 3  # lines before and after an area
LINES_AT_MOST = 200  # of one version in an area
AREAS_AT_MOST = 50  # of one file
SIDES = b"<|=>"
LINK, SUBMODULE = "120000", "160000"
BASE, OURS, THEIRS = 1, 2, 3


class Area(NamedTuple):
    """Lines that both sides changed, with the lines around them.

    `line` is the first one's number in our version; `left_out` lines of the versions are missing.
    """

    line: int
    before: tuple[str, ...]
    ours: tuple[str, ...]
    base: tuple[str, ...]
    theirs: tuple[str, ...]
    after: tuple[str, ...]
    left_out: int = 0


def areas_of(lines: Sequence[bytes], size: int) -> list[Area]:
    """Return the areas of a text that git merged in the style `diff3`.

    `size` is the length of the markers; no other line begins with so long a one.
    """
    found: list[Area] = []
    around: list[str] = []  # the lines since the last area
    parts: dict[int, list[str]] = {}
    side, number = 0, 1
    for line in lines[:-1] if lines and not lines[-1] else lines:
        marker = SIDES.find(line[:1]) if line[:size] == line[:1] * size and line else -1
        if marker < 0:
            text = line.decode("utf-8", "surrogateescape")
            (parts[side] if parts else around).append(text)
            number += not parts or side == 0
        elif marker == 0:
            found = _with_after(found, around)
            parts, side = {0: [], 1: [], 2: []}, 0
        elif marker < len(SIDES) - 1:
            side = marker
        else:
            begin = number - len(parts[0])
            found.append(_area(begin, around[-CONTEXT:], [parts[at] for at in range(3)]))
            parts, around = {}, []
    return _with_after(found, around)


def kind_words(stages: Collection[int], modes: Collection[str], *, ours: str, theirs: str) -> str:
    """Return how two sides conflict in a file, by the versions that exist; they have names."""
    if SUBMODULE in modes:
        return "a submodule with two commits"
    if LINK in modes:
        return "a symbolic link, changed by both"
    if BASE not in stages:
        only = {OURS: ours, THEIRS: theirs}
        if len(stages) == 1:
            (stage,) = stages
            return f"renamed, or in the way of a directory; only {only[stage]} has this name"
        return "added by both"
    if OURS in stages and THEIRS in stages:
        return "changed by both"
    if OURS in stages:
        return f"changed by {ours}, deleted or renamed by {theirs}"
    if THEIRS in stages:
        return f"changed by {theirs}, deleted or renamed by {ours}"
    return "renamed by both"


def _area(line: int, before: Sequence[str], parts: Sequence[Sequence[str]]) -> Area:
    cut = [tuple(part[:LINES_AT_MOST]) for part in parts]
    left_out = sum(len(part) for part in parts) - sum(map(len, cut))
    ours, base, theirs = cut
    return Area(line, tuple(before), ours, base, theirs, (), left_out)


def _with_after(found: list[Area], around: Sequence[str]) -> list[Area]:
    """Return the areas, the last one with the lines after it."""
    if not found or found[-1].after:
        return found
    return [*found[:-1], found[-1]._replace(after=tuple(around[:CONTEXT]))]
