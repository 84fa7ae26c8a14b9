"""Landings that a target's history no longer contains as they were recorded. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitworker.model.ids import Oid


@dataclass(frozen=True, slots=True)
class RecordedLanding:
    """One recorded fast-forward of a target."""

    worker: str
    task: str
    target_ref: str
    old: Oid
    new: Oid


def history_faults(
    landings: Sequence[RecordedLanding], parents: Mapping[Oid, Sequence[Oid]], *, since: Oid
) -> Iterator[tuple[RecordedLanding, str]]:
    """Yield each landing that is missing in the target's history or contains a merge, and why.

    `parents` is the target's history since `since`, the start of the first landing.
    """
    for landing in landings:
        if landing.new != since and landing.new not in parents:
            yield landing, "is no longer in the target: the branch was moved by force"
            continue
        merge = _first_merge(landing, parents)
        if merge is not None:
            yield landing, f"contains the merge commit {merge[:10]}"


def _first_merge(landing: RecordedLanding, parents: Mapping[Oid, Sequence[Oid]]) -> str | None:
    at = landing.new
    while at != landing.old and at in parents:
        if len(parents[at]) > 1:
            return at
        if not parents[at]:
            return None
        at = parents[at][0]
    return None
