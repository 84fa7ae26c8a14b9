"""Decisions about the hunks that a reviewer names. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.errors import Invalid
from gitworker.model.ids import HEX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.review.rules_patch import FilePatch

SHORTEST = 4


def choose(files: Sequence[FilePatch], chosen: str | None, *, worker: str) -> dict[str, str]:
    """Return the ids of the hunks that a reviewer names, with their paths.

    `chosen` is a path before or after the change, or the beginning of one id; None names all.
    Raises Invalid for the beginning of several ids.
    """
    found = {
        id: one.path
        for one in files
        for id in one.ids
        if chosen in (None, one.path, one.change.old_path)
    }
    if found or chosen is None or len(chosen) < SHORTEST or not HEX.issuperset(chosen):
        return found
    found = {id: one.path for one in files for id in one.ids if id.startswith(chosen)}
    if len(found) > 1:
        raise Invalid(
            f"{chosen} is the beginning of {len(found)} hunks: write more of it",
            f"git worker review {worker}",
        )
    return found
