"""Which lines a comment is on, from the rows that a person has chosen. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

CHANGED = frozenset({"add", "del"})


class Choice(NamedTuple):
    """A place as `FILE:LINE` or `FILE:FIRST-LAST`; `is_old`: the lines before the change."""

    place: str
    is_old: bool


def choose_lines(keys: Sequence[Any], files: Sequence[Any]) -> Choice | None:
    """Return the place of a comment; None for the change as a whole.

    `keys` are those of the chosen rows: lines have `old` and `new`, hunks have `id`, and each has
    the `path` of its file. On a hunk or a file, the first changed line is chosen. The lines are
    those after the change if the last chosen one exists there.
    """
    on = [one for one in keys if getattr(one, "path", None) is not None]
    if not on:
        return None
    path = on[-1].path
    lines = [one for one in on if one.path == path and hasattr(one, "old")]
    if not lines:
        lines = _first_changed(path, getattr(on[-1], "id", None), files)
    if not lines:
        return None
    is_old = lines[-1].new is None
    numbers = [one.old if is_old else one.new for one in lines]
    known = [one for one in numbers if one is not None]
    first, last = known[0], known[-1]
    return Choice(f"{path}:{first}" if first == last else f"{path}:{first}-{last}", is_old)


def _first_changed(path: str, hunk: str | None, files: Sequence[Any]) -> list[Any]:
    """Return the first changed line of a hunk, or of a file."""
    return [
        line
        for file in files if file.path == path
        for one in file.hunks if hunk in (None, one.id)
        for line in one.lines if line.kind in CHANGED
    ][:1]  # fmt: skip
