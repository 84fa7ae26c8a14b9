"""The conflicts of branches with the target and with each other, as the radar has found them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.model.ref_names import WORKSTREAMS, short_name
from gitworker.store.records.screens import read_known_conflicts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.model.ids import Ref
    from gitworker.store.api import Reader


class Overlap(NamedTuple):
    """A conflict of a worker's branch with the target or another worker, and the files."""

    other: str
    files: tuple[str, ...]


def read_overlaps(
    reader: Reader, owners: Mapping[Ref, str], *, target: Ref
) -> dict[Ref, tuple[Overlap, ...]]:
    """Return the known conflicts of the workers' branches, by one query and no process."""
    found: dict[Ref, tuple[Overlap, ...]] = {}
    for pair in read_known_conflicts(reader):
        for ref, other in ((pair.one, pair.other), (pair.other, pair.one)):
            is_target = other == target or other.startswith(WORKSTREAMS)
            if ref in owners and (is_target or other in owners):
                name = owners.get(other) or short_name(other)
                found[ref] = (*found.get(ref, ()), Overlap(name, pair.files))
    return found


def json_overlaps(conflicts: tuple[Overlap, ...]) -> list[dict[str, Any]]:
    """Return conflicts as JSON data."""
    return [{"with": one.other, "files": list(one.files)} for one in conflicts]
