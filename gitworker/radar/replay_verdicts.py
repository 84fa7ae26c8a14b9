"""The conflicts of rebasing branches onto the target, from the cache or computed on request.

A merge of the two tips answers another question: `git rebase` stops at the first commit that does
not fit, and it drops commits that the target has already. Branches of which no commit touches
anything that the target changed are not replayed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gitworker.errors import GitWorkerError
from gitworker.model.ids import Oid
from gitworker.radar.pair_verdicts import Verdicts, judge, load_history, pair_of, scratch_of
from gitworker.radar.rules_radar import ChangedPaths, footprint_of, pairs_that_may_overlap
from gitworker.repo.history.forks import Forks, read_path_changes
from gitworker.repo.replay.merge_pairs import UNNAMED
from gitworker.repo.replay.rebase_plan import NeedsRebase
from gitworker.repo.replay.replay import predict_conflict
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.session import Session
from gitworker.store.commits.merge_results import find_replay_results, store_replay_results

Files = dict[Oid, tuple[str, ...]]


def judge_rebases(session: Session, tips: Collection[Oid], *, target: Oid) -> Verdicts:
    """Return the paths in conflict of rebasing each tip onto the target; the keys are as `pair_of`.

    Tips that git cannot rebase stay unknown. The user's merge programs do not run: if a branch
    needs one, the tips are merged instead, its files as text. Stores new verdicts in the cache.
    """
    with session.store.read() as reader:
        found = find_replay_results(reader, target)
    known: Files = {tip: found[tip] for tip in tips if tip in found}
    missing = sorted({*tips} - known.keys())
    if not missing:
        return Verdicts(_by_pair(known, target), cached=len(known))
    replaying = _that_may_overlap(session, missing, target)
    fresh: Files = {tip: () for tip in missing if tip not in replaying}
    merging: list[Oid] = []
    complaint = ""
    memory = ReplayCache()
    for tip in replaying:
        try:
            fresh[tip] = _replay(session, tip, target=target, memory=memory)
        except NeedsRebase:
            merging.append(tip)
        except GitWorkerError as error:
            complaint = error.detail or error.message
    store_replay_results(session.store, target, fresh)
    pairs = [pair_of(tip, target, target=target) for tip in merging]
    merged = judge(session, pairs, target=target)
    return Verdicts(
        _by_pair(known | fresh, target) | merged.files,
        merged=len(replaying) - len(merging) + merged.merged,
        skipped=len(missing) - len(replaying) + merged.skipped,
        cached=len(known) + merged.cached,
        complaint=complaint or merged.complaint,
    )


def _by_pair(files: Files, target: Oid) -> dict[tuple[Oid, Oid], tuple[str, ...]]:
    return {pair_of(tip, target, target=target): paths for tip, paths in files.items()}


def _that_may_overlap(session: Session, tips: Sequence[Oid], target: Oid) -> list[Oid]:
    """Return the tips that must be replayed: some commit may touch a change of the target."""
    history, forks = load_history(session, target, tips)
    history = history._replace(own={**history.own, **_touched(session, forks)})
    pairs = pairs_that_may_overlap(history, [(target, tip) for tip in tips])
    return [tip for tip in tips if (target, tip) in pairs or not forks.lines.get(tip)]


def _touched(session: Session, forks: Forks) -> dict[Oid, ChangedPaths | None]:
    """Return the changes of all commits of each longer branch: a later one may revert another."""
    longer = {tip: line for tip, line in forks.lines.items() if len(line) > 1}
    changes = read_path_changes(
        session.git, list(dict.fromkeys(step for line in longer.values() for step in line))
    )
    return {
        tip: footprint_of(change for step in line for change in changes[step])
        for tip, line in longer.items()
    }


def _replay(session: Session, tip: Oid, *, target: Oid, memory: ReplayCache) -> tuple[str, ...]:
    with scratch_of(session) as scratch_dir:
        conflict = predict_conflict(
            session.git, target=target, topic=tip, scratch_dir=scratch_dir, memory=memory,
            runs_programs=False,
        )  # fmt: skip
    return () if conflict is None else conflict.paths or (UNNAMED,)
