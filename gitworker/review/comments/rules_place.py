"""Decisions about the place of a comment: its spelling, and the lines that it quotes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.errors import Invalid, NotFound
from gitworker.rules_text import one_line, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = "git worker review comment -h"


class Lines(NamedTuple):
    """Lines of a file, counted from 1; `last` is included."""

    path: str
    first: int
    last: int


def parse_place(text: str) -> Lines:
    """Return `FILE:LINE` or `FILE:LINE-LINE` as lines, with a normalized path.

    Raises Invalid for other texts, and for a path outside the repository.
    """
    path, colon, numbers = text.rpartition(":")
    first, dash, last = numbers.partition("-")
    if not (path and colon and _is_number(first) and (_is_number(last) if dash else not last)):
        raise Invalid(f"{ascii(text)[:80]} is not FILE:LINE or FILE:LINE-LINE", USAGE, code="usage")
    path = _normalized(path)
    found = Lines(path, int(first), int(last or first))
    if not 0 < found.first <= found.last:
        raise Invalid(f"{first}{dash}{last} is not a range of lines", USAGE, code="usage")
    return found


def _normalized(path: str) -> str:
    """Return the path as git names it; raise Invalid for one outside the repository."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part == ".." or path.startswith("/"):
            parts.clear()
            break
        elif part not in ("", "."):
            parts.append(part)
    if not parts:
        raise Invalid(f"{ascii(path)[:80]} is not a path in the repository", USAGE, code="usage")
    return "/".join(parts)


def split_lines(content: bytes) -> list[bytes]:
    """Return the lines of a file without their newlines; other line ends are part of a line."""
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return lines


def quoted_lines(place: Lines, content: bytes | None, *, label: str) -> tuple[str, ...]:
    """Return the lines of a file at a place; `label` names the version.

    Raises NotFound for a file that does not exist, Invalid for a binary file or a line after the
    last.
    """
    shown = one_line(place.path)
    if content is None:
        raise NotFound(f"{shown} does not exist in {label}", f"git ls-files {quoted(place.path)}")
    if b"\0" in content:
        raise Invalid(f"{shown} is binary, so it has no lines", USAGE)
    lines = split_lines(content)
    if place.last > len(lines):
        raise Invalid(
            f"{shown} has {len(lines)} lines in {label}, so line {place.last} does not exist",
            USAGE,
        )
    return tuple(
        line.decode("utf-8", "surrogateescape") for line in lines[place.first - 1 : place.last]
    )


def same_lines(lines: Sequence[bytes], place: Lines, quoted_before: Sequence[str]) -> bool:
    """Return whether the lines at a place are exactly those that were quoted."""
    found = [
        line.decode("utf-8", "surrogateescape") for line in lines[place.first - 1 : place.last]
    ]
    return found == list(quoted_before)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
