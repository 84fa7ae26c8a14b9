"""Which tasks would change the same paths as one that runs, and so wait for it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.claims.rules_globs import overlap
from gitworker.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Area(NamedTuple):
    """The paths that a task is expected to change, or has changed; empty if they are not known."""

    task: str
    paths: tuple[str, ...]


def without_overlaps(
    ready: Iterable[Area], running: Iterable[Area], *, number: int
) -> tuple[list[str], dict[str, str]]:
    """Return the first `number` tasks that meet no other, and the other one of each that waits.

    Of two READY tasks that meet, the first in the order starts.
    """
    taken = list(running)
    free: list[str] = []
    waiting: dict[str, str] = {}
    for area in ready:
        if len(free) == number:
            break
        other = find_overlap(area, taken)
        if other is None:
            free.append(area.task)
            taken.append(area)
        else:
            waiting[area.task] = other
    return free, waiting


def find_overlap(area: Area, others: Sequence[Area]) -> str | None:
    """Return the first task whose paths may meet those of an area, or None."""
    return next(
        (
            other.task
            for other in others
            if other.task != area.task
            and any(_may_meet(one, two) for one in area.paths for two in other.paths)
        ),
        None,
    )


def _may_meet(one: str, other: str) -> bool:
    """Return whether two patterns may match one path; a bad pattern matches only itself."""
    try:
        return overlap(one, other)
    except Invalid:
        return one == other
