"""The results of merging pairs of commits, from the cache or computed on request.

A verdict has the conflicts to which both branches contribute: not those of one branch with commits
of the target that the other contains. It is stored under both ids. The attributes are those of the
first commit: the target if it is in the pair, otherwise the lower id.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import NamedTuple

from gitworker import clock
from gitworker.model.ids import Oid
from gitworker.radar.rules_radar import (
    BranchHistory,
    ChangedPaths,
    Pair,
    footprint_of,
    own_attributes,
    own_conflicts,
    pairs_that_may_overlap,
)
from gitworker.repo.history.forks import Forks, PathChange, read_forks, read_path_changes
from gitworker.repo.replay.attributes import list_attribute_directories, read_attributes
from gitworker.repo.replay.merge_pairs import Attributes, Batch, Merged, merge_pairs
from gitworker.session import Session
from gitworker.store.api import Reader, Writer
from gitworker.store.commits.merge_results import (
    MergeResult,
    Span,
    find_changes,
    find_forks,
    find_merge_results,
    prune_merge_results,
    store_changes,
    store_forks,
    store_merge_results,
)

CHANGES_AT_MOST = 5000  # a commit that changes more paths is compared with every other
KEPT_MS = 24 * 60 * 60 * 1000  # for a pair whose branch has moved on, since it may move back


class Verdicts(NamedTuple):
    """The paths in conflict of each known pair, empty for a clean one.

    `merged`, `skipped` and `cached` count the pairs by origin; `complaint` is git's message if it
    could not merge one.
    """

    files: dict[Pair, tuple[str, ...]]
    merged: int = 0
    skipped: int = 0
    cached: int = 0
    complaint: str = ""


def together(one: Verdicts, other: Verdicts) -> Verdicts:
    """Return the verdicts of two calls as one."""
    return Verdicts(
        one.files | other.files,
        merged=one.merged + other.merged,
        skipped=one.skipped + other.skipped,
        cached=one.cached + other.cached,
        complaint=one.complaint or other.complaint,
    )


def pair_of(one: Oid, other: Oid, *, target: Oid) -> Pair:
    """Return two commits in the order under which their verdict is stored."""
    if target in (one, other):
        return (target, other if one == target else one)
    return (one, other) if one < other else (other, one)


def find_ahead(session: Session, *, target: Oid, tips: Sequence[Oid]) -> set[Oid]:
    """Return the tips with commits that the target lacks; git is asked about new tips only."""
    with session.store.read() as reader:
        known = find_forks(reader, target)
    if not known.keys() >= set(tips):
        known = _read_and_store_forks(session, target, tips)[1]
    return {tip for tip in tips if known[tip] != tip}


def judge(
    session: Session, pairs: Iterable[Pair], *, target: Oid, compute: bool = True
) -> Verdicts:
    """Return the verdicts on pairs (as of `pair_of`); unknown pairs are merged if `compute`.

    Pairs that git cannot merge stay unknown. Stores new verdicts in the cache.
    """
    wanted = set(pairs)
    found = {pair: () for pair in wanted if pair[0] == pair[1]}
    with session.store.read() as reader:
        known = _load_verdicts(reader, wanted)
    files = {**found, **known}
    missing = sorted(wanted - files.keys())
    if not missing or not compute:
        return Verdicts(files, cached=len(files))
    track = load_history(session, target, {oid for pair in missing for oid in pair})[0]
    merging = pairs_that_may_overlap(track, missing)
    merged = _merge(session, track, target, [pair for pair in missing if pair in merging])
    fresh: dict[Pair, tuple[str, ...]] = {pair: () for pair in missing if pair not in merging}
    fresh |= _without_targets(session, track, target, merged)
    results = [MergeResult(*pair, conflicts) for pair, conflicts in fresh.items()]
    store_merge_results(session.store, results, now=clock.now_ms())
    return Verdicts(
        files | fresh,
        merged=len(merged.conflicts),
        skipped=len(missing) - len(merging),
        cached=len(files),
        complaint=merged.complaint,
    )


def prune(writer: Writer, *, targets: Collection[Oid], live: Iterable[Oid]) -> None:
    """Delete cache rows of commits that are neither a target nor the tip of a branch."""
    before_ms = clock.now_ms() - KEPT_MS
    prune_merge_results(writer, targets=targets, live=[*targets, *live], before_ms=before_ms)


def _load_verdicts(reader: Reader, wanted: set[Pair]) -> dict[Pair, tuple[str, ...]]:
    results = find_merge_results(reader, [one for one, _ in wanted])
    return {(one, other): files for one, other, files in results if (one, other) in wanted}


def _read_and_store_forks(
    session: Session, target: Oid, tips: Sequence[Oid]
) -> tuple[Forks, dict[Oid, Oid | None]]:
    """Read from git the commits at which these tips left the target; return them and the rows."""
    forks = read_forks(session.git, target=target, tips=tips)
    stored = {tip: forks.bases.get(tip, tip) for tip in tips}
    store_forks(session.store, target, stored)
    return forks, stored


def load_history(
    session: Session, target: Oid, commits: Collection[Oid]
) -> tuple[BranchHistory, Forks]:
    """Return the history of these tips, with their changes since they left the target."""
    forks, _ = _read_and_store_forks(session, target, sorted({*commits} - {target}))
    spans = {tip: (base, tip) for tip, base in forks.bases.items() if base is not None}
    steps = list(zip(forks.trunk, forks.trunk[1:], strict=False))
    footprints = _load_footprints(session, [*spans.values(), *steps])
    own: dict[Oid, ChangedPaths | None] = {tip: footprints[span] for tip, span in spans.items()}
    own[target] = footprint_of(())
    history = BranchHistory(
        bases={**forks.bases, target: target},
        own=own,
        trunk=forks.trunk,
        steps=[footprints[step] for step in steps],
        related=forks.related,
    )
    return history, forks


def _load_footprints(session: Session, spans: Sequence[Span]) -> dict[Span, ChangedPaths | None]:
    """Return the differences between commits, from the cache or git; None if too many."""
    with session.store.read() as reader:
        known = find_changes(reader, [base for base, _ in spans])
    missing = [span for span in spans if span not in known]
    if missing:
        listed = read_path_changes(session.git, missing)
        fresh = {span: _changes_text(changes) for span, changes in listed.items()}
        store_changes(session.store, fresh)
        known |= fresh
    return {
        span: None if (text := known[span]) is None else footprint_of(json.loads(text))
        for span in spans
    }


def _changes_text(changes: tuple[PathChange, ...]) -> str | None:
    return json.dumps(changes) if len(changes) <= CHANGES_AT_MOST else None


def _without_targets(
    session: Session, track: BranchHistory, target: Oid, merged: Merged
) -> dict[Pair, tuple[str, ...]]:
    """Return the paths in conflict without the conflicts of one branch with the target alone."""
    clashing = [pair for pair, found in merged.conflicts.items() if found and target not in pair]
    starts = {tip: _start_of(session, track, target, tip) for pair in clashing for tip in pair}
    with_target: dict[Pair, set[Pair]] = {}
    for one, other in clashing:
        if starts[one] != starts[other]:
            sides = {(starts[one], other), (one, starts[other])} - {(one, other)}
            with_target[one, other] = {(a, b) for a, b in sides if a is not None and b is not None}
    known = _merge(session, track, target, sorted({*chain(*with_target.values())})).conflicts
    return {
        pair: own_conflicts(found, [known.get(sides, {}) for sides in with_target.get(pair, ())])
        for pair, found in merged.conflicts.items()
    }


def _start_of(session: Session, track: BranchHistory, target: Oid, tip: Oid) -> Oid | None:
    """Return the target's newest commit in a branch, or None."""
    base = track.bases.get(tip)
    return base or Oid(session.git.text("merge-base", target, tip, ok=(0, 1))) or None


def _merge(session: Session, track: BranchHistory, target: Oid, pairs: Sequence[Pair]) -> Merged:
    """Merge pairs, each with its attributes."""
    special = own_attributes(track, {one for one, _ in pairs} - {target})
    batches: list[tuple[Attributes, list[Pair]]] = []
    by_holder: dict[Oid, list[Pair]] = {}
    for pair in pairs:
        by_holder.setdefault(pair[0] if pair[0] in special else target, []).append(pair)
    for holder, held in by_holder.items():
        attributes = _read_attributes(session, holder)
        same = [batch for texts, batch in batches if texts == attributes]
        if same:
            same[0].extend(held)
        else:
            batches.append((attributes, held))
    with scratch_of(session) as scratch_dir:
        return merge_pairs(
            session.repository.common_dir,
            [Batch(held, attributes) for attributes, held in batches],
            scratch_dir=scratch_dir,
            git_config=session.git_config,
        )


@contextmanager
def scratch_of(session: Session) -> Iterator[str]:
    """Yield a directory for objects that merges write; temporary if the state is read-only."""
    if not session.store.is_read_only:
        yield session.scratch_dir
        return
    from tempfile import TemporaryDirectory  # 10 ms, on a read-only file system only

    with TemporaryDirectory(prefix="gitworker-") as directory:
        yield directory


def _read_attributes(session: Session, commit: Oid) -> Attributes:
    directories = sorted(list_attribute_directories(session.git, commit))
    return read_attributes(session.git, commit, directories) if directories else {}
