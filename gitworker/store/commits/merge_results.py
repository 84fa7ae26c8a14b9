"""The cache of the radar: fork points, changes and merge results of commits."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.store.api import Reader, Store, Writer

Span = tuple[Oid, Oid]  # base, tip


class MergeResult(NamedTuple):
    """The paths in conflict between two commits."""

    one: Oid
    other: Oid
    files: tuple[str, ...]


def find_forks(reader: Reader, target: Oid) -> dict[Oid, Oid | None]:
    """Return the known fork points of tips and a target; None if there is no common commit."""
    rows = reader.rows("radar.forks", target=target)
    return {Oid(row["tip_oid"]): row["base_oid"] and Oid(row["base_oid"]) for row in rows}


def find_changes(reader: Reader, bases: Iterable[Oid]) -> dict[Span, str | None]:
    """Return the known changes since these commits as JSON texts; None for too many changes."""
    rows = reader.rows("radar.changes", bases=_list(bases))
    return {(Oid(row["base_oid"]), Oid(row["tip_oid"])): row["changes"] for row in rows}


def find_merge_results(reader: Reader, tips: Iterable[Oid]) -> list[MergeResult]:
    """Return the known results of merging these commits with any other."""
    rows = reader.rows("radar.verdicts", tips=_list(tips))
    return [
        MergeResult(
            Oid(row["one_oid"]),
            Oid(row["other_oid"]),
            () if row["files"] == "[]" else tuple(json.loads(row["files"])),
        )
        for row in rows
    ]


def find_replay_results(reader: Reader, target: Oid) -> dict[Oid, tuple[str, ...]]:
    """Return the known paths in conflict of rebasing tips onto a target."""
    rows = reader.rows("radar.replays", target=target)
    return {Oid(row["tip_oid"]): tuple(json.loads(row["files"])) for row in rows}


def store_replay_results(store: Store, target: Oid, results: dict[Oid, tuple[str, ...]]) -> None:
    """Store the results of rebasing tips onto a target."""
    rows = [(tip, json.dumps(files)) for tip, files in results.items()]
    _store(store, "radar.add_replays", json.dumps(rows), target=target)


def store_forks(store: Store, target: Oid, forks: dict[Oid, Oid | None]) -> None:
    """Store the fork points of tips and a target."""
    _store(store, "radar.add_forks", json.dumps(list(forks.items())), target=target)


def store_changes(store: Store, changes: dict[Span, str | None]) -> None:
    """Store changes as JSON texts."""
    _store(
        store, "radar.add_changes", json.dumps([(*span, text) for span, text in changes.items()])
    )


def store_merge_results(store: Store, results: Iterable[MergeResult], *, now: int) -> None:
    """Store the results of merging pairs of commits."""
    rows = [(one, other, json.dumps(files)) for one, other, files in results]
    _store(store, "radar.add_verdicts", json.dumps(rows), now=now)


def prune_merge_results(
    writer: Writer, *, targets: Iterable[Oid], live: Iterable[Oid], before_ms: int
) -> None:
    """Delete the rows of other targets and of commits that are not in `live`.

    A result is deleted if two of these are true: one commit is not live, the other is not, it is
    from before `before_ms`.
    """
    tips, kept = _list(live), _list(targets)
    writer.run("radar.prune_forks", targets=kept, live=tips)
    writer.run("radar.prune_changes", live=tips)
    writer.run("radar.prune_replays", targets=kept, live=tips)
    writer.run("radar.prune_verdicts", live=tips, before=before_ms)


def _store(store: Store, query: str, rows: str, **values: str | int) -> None:
    """Write to the cache, unless the state directory is read-only."""
    if not store.is_read_only:
        store.write_one(query, durable=False, rows=rows, **values)


def _list(oids: Iterable[Oid]) -> str:
    return json.dumps(sorted(set(oids)))
