"""A patch as data: files with their hunks, and the identity of a hunk. Pure.

Text is git's, with surrogate escapes for bytes that are not UTF-8.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

HEAD = "diff --git "
BINARY = "Binary files "
ADDED, USUAL_MODE = "A", "100644"
MODES = {"100755": " (executable)", "120000": " (symbolic link)", "160000": " (submodule)"}
TYPE_CHANGE = "T"  # git shows it as a deletion and a new file
NO_NEWLINE = "\\"


class RawChange(NamedTuple):
    """One changed path of `git diff-tree --raw`; `old_path` differs after a rename."""

    status: str
    old_mode: str
    new_mode: str
    old_oid: str
    new_oid: str
    old_path: str
    path: str


class Hunk(NamedTuple):
    """One hunk; `lines` begin with ' ', '-', '+' or '\\'. `id` is the same for the same change."""

    id: str
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    heading: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The change of one file. `facts` is the id of a change without lines: mode, name, binary."""

    change: RawChange
    is_binary: bool
    hunks: tuple[Hunk, ...]
    facts: str | None

    @property
    def path(self) -> str:
        """Return the path after the change."""
        return self.change.path

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of all parts that a reviewer views."""
        return (*([self.facts] if self.facts else ()), *(hunk.id for hunk in self.hunks))

    @property
    def added(self) -> int:
        """Return the number of added lines."""
        return sum(line[:1] == "+" for hunk in self.hunks for line in hunk.lines)

    @property
    def removed(self) -> int:
        """Return the number of removed lines."""
        return sum(line[:1] == "-" for hunk in self.hunks for line in hunk.lines)


def parse_raw(text: str) -> list[RawChange]:
    """Return the changes of `git diff-tree -r -z --raw`, in git's order."""
    fields = iter(text.split("\0"))
    found = []
    for field in fields:
        if not field.startswith(":"):
            continue
        old_mode, new_mode, old_oid, new_oid, status = field[1:].split(" ")
        old_path = next(fields)
        path = next(fields) if status[0] in "RC" else old_path
        found.append(RawChange(status[0], old_mode, new_mode, old_oid, new_oid, old_path, path))
    return found


def parse_patch(changes: Sequence[RawChange], text: str) -> tuple[FilePatch, ...]:
    """Return the files of a patch; `changes` are those of the same comparison.

    Names are taken from `changes` only, since those of the patch are quoted.
    """
    sections = _sections(text.split("\n"))
    files = []
    for change in changes:
        parts = [next(sections, ([], []))]
        if change.status == TYPE_CHANGE:
            parts.append(next(sections, ([], [])))
        is_binary = any(line.startswith(BINARY) for head, _ in parts for line in head)
        bodies = [body for _, found in parts for body in found]
        hunks = _identified(change, bodies)
        files.append(
            FilePatch(change, is_binary, hunks, _facts(change, hunks, is_binary=is_binary))
        )
    return tuple(files)


def _sections(lines: Sequence[str]) -> Iterator[tuple[list[str], list[Hunk]]]:
    """Yield the head and the hunks of each file; the counts say where a hunk ends."""
    head: list[str] | None = None
    hunks: list[Hunk] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(HEAD):
            if head is not None:
                yield head, hunks
            head, hunks = [], []
        elif line.startswith("@@ ") and head is not None:
            hunk = _read_hunk(lines, at)
            hunks.append(hunk)
            at += len(hunk.lines)
        elif head is not None:
            head.append(line)
        at += 1
    if head is not None:
        yield head, hunks


def _read_hunk(lines: Sequence[str], at: int) -> Hunk:
    ranges, _, heading = lines[at][3:].partition(" @@")
    old, new = ranges.split(" ")
    old_start, old_count = _range(old)
    new_start, new_count = _range(new)
    old_left, new_left = old_count, new_count
    body: list[str] = []
    for line in lines[at + 1 :]:
        if not (old_left or new_left or line[:1] == NO_NEWLINE):
            break
        old_left -= line[:1] in (" ", "-", "")
        new_left -= line[:1] in (" ", "+", "")
        body.append(line)
    return Hunk("", old_start, old_count, new_start, new_count, heading.strip(), tuple(body))


def _range(text: str) -> tuple[int, int]:
    start, comma, count = text[1:].partition(",")
    return int(start), int(count) if comma else 1


def _identified(change: RawChange, hunks: Sequence[Hunk]) -> tuple[Hunk, ...]:
    """Return the hunks with their ids.

    An id covers path, text and context, and no line number. Equal hunks of a file cannot be
    distinguished after an edit, so their number and place among each other are part of the id.
    """
    total = Counter(hunk.lines for hunk in hunks)
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    for hunk in hunks:
        seen[hunk.lines] += 1
        twins = [seen[hunk.lines], total[hunk.lines]]
        found.append(hunk._replace(id=_digest([change.old_path, change.path, twins, hunk.lines])))
    return tuple(found)


def mode_text(change: RawChange) -> str | None:
    """Return the change of a file's mode, or the unusual mode of a new one, in words; or None."""
    if change.status in "MRC" and change.old_mode != change.new_mode:
        return f"mode {change.old_mode} → {change.new_mode}"
    if change.status == ADDED and change.new_mode != USUAL_MODE:
        return f"mode {change.new_mode}{MODES.get(change.new_mode, '')}"
    return None


def _facts(change: RawChange, hunks: Sequence[Hunk], *, is_binary: bool) -> str | None:
    """Return the id of the part of a change that has no lines, or None."""
    has_moved = change.old_path != change.path
    has_mode = mode_text(change) is not None
    if hunks and not (has_moved or has_mode or is_binary or change.status == TYPE_CHANGE):
        return None
    facts: list[object] = [change.status, change.old_mode, change.new_mode]
    facts += [change.old_path, change.path]
    if is_binary or not hunks:
        facts += [change.old_oid, change.new_oid]
    return _digest(facts)


def _digest(value: object) -> str:
    return sha256(json.dumps(value).encode()).hexdigest()[:40]
