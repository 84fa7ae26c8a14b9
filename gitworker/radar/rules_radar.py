"""Rules: which branches can conflict at all, because their changed paths may overlap. Pure.

Branches that cannot overlap need no merge; in doubt they are merged. Names are compared byte by
byte, as in git's merge whatever core.ignoreCase says.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import accumulate
from typing import NamedTuple

from gitworker.model.ids import Oid

Pair = tuple[Oid, Oid]

DELETED = "D"
ADDED = "A"
ATTRIBUTES = ".gitattributes"


class ChangedPaths(NamedTuple):
    """The paths that one side of a merge changes, and the directories above them.

    `emptied` and `filled` are the directories above its deleted and its added paths.
    """

    paths: frozenset[str]
    folders: frozenset[str]
    emptied: frozenset[str]
    filled: frozenset[str]


class BranchHistory(NamedTuple):
    """The branches' history: the commit at which each left the target, and the changes since.

    `own` is the footprint of each tip since its base; `trunk` are the target's own commits at which
    some branch left, oldest first, the target last; `steps` are the target's changes from each to
    the next. A base or footprint of None is unknown; `related` are the tips that share commits.
    """

    bases: Mapping[Oid, Oid | None]
    own: Mapping[Oid, ChangedPaths | None]
    trunk: Sequence[Oid]
    steps: Sequence[ChangedPaths | None]
    related: Mapping[Oid, frozenset[Oid]]


def footprint_of(changes: Iterable[tuple[str, str]]) -> ChangedPaths:
    """Return the footprint of changes, each a status and a path."""
    found = list(changes)
    return ChangedPaths(
        paths=frozenset(path for _, path in found),
        folders=_folders(path for _, path in found),
        emptied=_folders(path for status, path in found if status == DELETED),
        filled=_folders(path for status, path in found if status == ADDED),
    )


def can_overlap(one: ChangedPaths | None, other: ChangedPaths | None) -> bool:
    """Return True if a merge of two changes may do more than put them side by side.

    They overlap at a path that both change, at a path that is a file in one and a directory in the
    other, and if one adds a file below a directory from which the other removes files: git may
    treat that as a renamed directory and move the file. A renamed file counts by both names.
    """
    if one is None or other is None:
        return True
    return not (
        one.paths.isdisjoint(other.paths)
        and one.paths.isdisjoint(other.folders)
        and one.folders.isdisjoint(other.paths)
        and one.emptied.isdisjoint(other.filled)
        and one.filled.isdisjoint(other.emptied)
    )


def pairs_that_may_overlap(track: BranchHistory, pairs: Iterable[Pair]) -> set[Pair]:
    """Return the pairs that must be merged to know whether they conflict.

    Two branches are also compared with the target's changes between their bases, since the later
    branch contains them. If a base is unknown or they share commits, they must be merged.
    """
    indexes = {oid: index for index, oid in enumerate(track.trunk)}
    meetings: dict[
        Oid, list[int]
    ] = {}  # by tip: the number of steps before each index that overlap
    found = set()
    for one, other in pairs:
        older, newer = (track.bases.get(tip) for tip in (one, other))
        if older is None or newer is None or other in track.related.get(one, ()):
            found.add((one, other))
            continue
        early, late = one, other
        if indexes[older] > indexes[newer]:
            early, late, older, newer = other, one, newer, older
        if early not in meetings:
            own = track.own.get(early)
            meetings[early] = list(
                accumulate((can_overlap(own, s) for s in track.steps), initial=0)
            )
        if meetings[early][indexes[newer]] > meetings[early][indexes[older]] or can_overlap(
            track.own.get(early), track.own.get(late)
        ):
            found.add((one, other))
    return found


def own_conflicts(
    conflicts: Mapping[str, Set[str]], with_target: Iterable[Mapping[str, Set[str]]]
) -> tuple[str, ...]:
    """Return the paths in conflict, sorted, to which both branches of a pair contribute.

    A later branch contains commits of the target, and the earlier one may conflict with these
    alone. `with_target` are such merges; a path with the same unmerged entries is left out.
    """
    known = list(with_target)
    return tuple(
        sorted(
            path
            for path, entries in conflicts.items()
            if all(other.get(path) != entries for other in known)
        )
    )


def own_attributes(track: BranchHistory, tips: Iterable[Oid]) -> set[Oid]:
    """Return the tips whose `.gitattributes` may differ from the target's."""
    indexes = {oid: index for index, oid in enumerate(track.trunk)}
    changed = [_has_attributes(step) for step in track.steps]
    found = set()
    for tip in tips:
        base = track.bases.get(tip)
        if base is None or any(changed[indexes[base] :]) or _has_attributes(track.own.get(tip)):
            found.add(tip)
    return found


def _has_attributes(footprint: ChangedPaths | None) -> bool:
    return footprint is None or any(
        path == ATTRIBUTES or path.endswith(f"/{ATTRIBUTES}") for path in footprint.paths
    )


def _folders(paths: Iterable[str]) -> frozenset[str]:
    """Return the directories above these paths, without the root, which is never renamed."""
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(found)
