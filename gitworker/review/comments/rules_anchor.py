"""Decisions about the lines of a comment in a later version of the code. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.review.comments.rules_place import Lines
from gitworker.review.rules_patch import TYPE_CHANGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.review.rules_patch import FilePatch, Hunk

ENDED = frozenset({"D", TYPE_CHANGE})


def follow(lines: Lines, files: Sequence[FilePatch]) -> Lines | None:
    """Return the place of lines after a change without context lines; None if they changed.

    `files` lead from the version that has the lines to the other one. A line that was inserted
    between the lines changes them, too.
    """
    change = next((one for one in files if one.change.old_path == lines.path), None)
    if change is None:
        return lines
    if change.change.status in ENDED or change.is_binary:
        return None
    moved = _shift(lines, change.hunks)
    return None if moved is None else Lines(change.path, lines.first + moved, lines.last + moved)


def is_removed(lines: Lines, files: Sequence[FilePatch]) -> bool:
    """Return whether a change removes all of these lines of the version before it."""
    change = next((one for one in files if one.change.old_path == lines.path), None)
    if change is None:
        return False
    removed: set[int] = set()
    for hunk in change.hunks:
        at = hunk.old_start
        for line in hunk.lines:
            if line[:1] == "-":
                removed.add(at)
            at += line[:1] in (" ", "-", "")
    return removed.issuperset(range(lines.first, lines.last + 1))


def _shift(lines: Lines, hunks: Sequence[Hunk]) -> int | None:
    """Return by how many lines the hunks move the lines; None if they touch them."""
    moved = 0
    for hunk in hunks:
        if hunk.old_count == 0:  # an insertion after old_start
            if hunk.old_start >= lines.last:
                break
            if hunk.old_start >= lines.first:
                return None
        else:
            if hunk.old_start > lines.last:
                break
            if hunk.old_start + hunk.old_count > lines.first:
                return None
        moved += hunk.new_count - hunk.old_count
    return moved
