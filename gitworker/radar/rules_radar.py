"""Which branches can conflict at all: where their changed paths meet, or may meet. Pure.

What cannot meet needs no merge; in doubt two branches meet. Names are compared byte by byte, as
git's merge does whatever core.ignoreCase says.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from gitworker.model.ids import Oid

Pair = tuple[Oid, Oid]

DELETED = "D"
ADDED = "A"
ATTRIBUTES = ".gitattributes"


class Footprint(NamedTuple):
    """The paths that one side of a merge changes, and the directories that they lie in.

    `emptied` and `filled` are the directories above its deleted and its added paths.
    """

    paths: frozenset[str]
    folders: frozenset[str]
    emptied: frozenset[str]
    filled: frozenset[str]


class Track(NamedTuple):
    """What is known of all branches: where each left the target, and what was changed.

    `own` is what each tip has changed since its base, `line` the target's own commits at which
    some branch left, oldest first, the target last; `steps` what it changed from each to the next.
    A base or footprint of None is not known; `kin` are the tips that have commits in common.
    """

    bases: Mapping[Oid, Oid | None]
    own: Mapping[Oid, Footprint | None]
    line: Sequence[Oid]
    steps: Sequence[Footprint | None]
    kin: Mapping[Oid, frozenset[Oid]]


def footprint_of(changes: Iterable[tuple[str, str]]) -> Footprint:
    """Return the footprint of changes, each a status and a path."""
    found = list(changes)
    return Footprint(
        paths=frozenset(path for _, path in found),
        folders=_folders(path for _, path in found),
        emptied=_folders(path for status, path in found if status == DELETED),
        filled=_folders(path for status, path in found if status == ADDED),
    )


def can_meet(one: Footprint | None, other: Footprint | None) -> bool:
    """Tell whether merging two changes may do more than to put them side by side.

    They meet at a path that both change, where one has a file and the other a directory, and where
    one adds a file below a directory that the other takes files out of: git may see there that the
    directory was renamed, and lets the file follow. A renamed file counts by both of its names.
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


def pairs_that_may_meet(track: Track, pairs: Iterable[Pair]) -> set[Pair]:
    """Return the pairs that must be merged to know whether they conflict.

    Two branches are compared with what the target did between their bases too, since the later one
    has it. Where the base of one is not known they meet, as they do where they share commits.
    """
    places = {oid: place for place, oid in enumerate(track.line)}
    met: dict[Oid, list[int]] = {}  # by tip: how many steps up to each place it meets
    found = set()
    for one, other in pairs:
        older, newer = (track.bases.get(tip) for tip in (one, other))
        if older is None or newer is None or other in track.kin.get(one, ()):
            found.add((one, other))
            continue
        early, late = one, other
        if places[older] > places[newer]:
            early, late, older, newer = other, one, newer, older
        if early not in met:
            own = track.own.get(early)
            met[early] = list(accumulate((can_meet(own, s) for s in track.steps), initial=0))
        if met[early][places[newer]] > met[early][places[older]] or can_meet(
            track.own.get(early), track.own.get(late)
        ):
            found.add((one, other))
    return found


def own_attributes(track: Track, tips: Iterable[Oid]) -> set[Oid]:
    """Return the tips whose `.gitattributes` may be others than the target's."""
    places = {oid: place for place, oid in enumerate(track.line)}
    changed = [_has_attributes(step) for step in track.steps]
    found = set()
    for tip in tips:
        base = track.bases.get(tip)
        if base is None or any(changed[places[base] :]) or _has_attributes(track.own.get(tip)):
            found.add(tip)
    return found


def _has_attributes(footprint: Footprint | None) -> bool:
    return footprint is None or any(
        path == ATTRIBUTES or path.endswith(f"/{ATTRIBUTES}") for path in footprint.paths
    )


def _folders(paths: Iterable[str]) -> frozenset[str]:
    """Return the directories above these paths, the root left out: it is never renamed."""
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(found)
