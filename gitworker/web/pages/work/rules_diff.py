"""A unified diff as files, hunks and lines with their numbers. Pure.

The text is git's own, but a user's external diff program may write any other text: it is shown as
it is, as one file without a name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
LINES_AT_MOST = 20_000
KINDS = {"+": "add", "-": "del", " ": "same", "\\": "note"}


class DiffLine(NamedTuple):
    """One line; `kind` is add, del, same or note. A number is None on the other side."""

    kind: str
    old: int | None
    new: int | None
    text: str


class Hunk(NamedTuple):
    """The lines below one `@@`; `head` is the text behind it, such as a function's name."""

    head: str
    lines: tuple[DiffLine, ...]


class DiffFile(NamedTuple):
    """One file; `facts` are git's own lines about it, such as a rename or a mode."""

    name: str
    facts: tuple[str, ...]
    hunks: tuple[Hunk, ...]

    @property
    def counts(self) -> tuple[int, int]:
        """Return the number of added and of deleted lines."""
        kinds = [line.kind for hunk in self.hunks for line in hunk.lines]
        return kinds.count("add"), kinds.count("del")


class ParsedDiff(NamedTuple):
    """The files of a diff; `left_out` lines after the limit are not shown."""

    files: tuple[DiffFile, ...]
    left_out: int = 0


def parse_diff(text: str) -> ParsedDiff:
    """Return the files of a diff in their order."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    shown = lines[:LINES_AT_MOST]
    return ParsedDiff(tuple(_files(shown)), len(lines) - len(shown))


def _files(lines: list[str]) -> Iterator[DiffFile]:
    starts = [at for at, line in enumerate(lines) if line.startswith("diff --git ")]
    if lines and (not starts or starts[0] > 0):
        end = starts[0] if starts else len(lines)
        yield DiffFile("", tuple(lines[:end]), ())
    for at, start in enumerate(starts):
        end = starts[at + 1] if at + 1 < len(starts) else len(lines)
        yield _file(lines[start:end])


def _file(lines: list[str]) -> DiffFile:
    heads = [at for at, line in enumerate(lines) if HUNK.match(line)]
    first = heads[0] if heads else len(lines)
    hunks = [
        _hunk(lines[head : heads[at + 1] if at + 1 < len(heads) else len(lines)])
        for at, head in enumerate(heads)
    ]
    facts = [line for line in lines[1:first] if not line.startswith(("index ", "--- ", "+++ "))]
    return DiffFile(_name(lines[:first]), tuple(facts), tuple(hunks))


def _name(head: list[str]) -> str:
    """Return the path of a file: the new one, or the old one of a file that was deleted."""
    for mark in ("+++ ", "rename to ", "--- "):
        for line in head:
            name = line.removeprefix(mark)
            if name != line and name != "/dev/null":
                return re.sub(r"^(\"?)[abciow]/", r"\1", name) if mark[0] in "+-" else name
    both = head[0].removeprefix("diff --git ")
    return re.sub(r"^[abciow]/", "", both[: len(both) // 2])


def _hunk(lines: list[str]) -> Hunk:
    found = HUNK.match(lines[0])
    assert found is not None
    old, new = int(found[1]), int(found[2])
    parsed = []
    for line in lines[1:]:
        kind = KINDS.get(line[:1], "same")
        parsed.append(
            DiffLine(
                kind, old if kind in ("del", "same") else None,
                new if kind in ("add", "same") else None, line[1:],
            )
        )  # fmt: skip
        old += kind in ("del", "same")
        new += kind in ("add", "same")
    return Hunk(found[3], tuple(parsed))
