"""The radar: which active branches conflict with the target and with each other, in which files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import combinations
from typing import NamedTuple

from gitworker.bus.jobs.radar_job import targets_of, watched_branches
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import short_name
from gitworker.radar.pair_verdicts import Verdicts, find_ahead, judge, pair_of, prune, together
from gitworker.radar.replay_verdicts import judge_rebases
from gitworker.radar.rules_radar import Pair
from gitworker.repo.plumbing.refs import read_branches
from gitworker.session import Session, missing_target
from gitworker.store.workers import Worker, all_workers


class RadarBranch(NamedTuple):
    """One branch known to the radar; the target has neither worker nor task."""

    ref: Ref
    tip: Oid
    worker: str | None = None
    task: str | None = None

    @property
    def branch(self) -> str:
        """Return the branch's short name."""
        return short_name(self.ref)

    @property
    def name(self) -> str:
        """Return the worker, or the target's branch."""
        return self.worker or self.branch


class BranchPair(NamedTuple):
    """Two branches and the paths in conflict, sorted; empty if they merge, None if unknown.

    If the target is one of them, it is the second.
    """

    one: RadarBranch
    other: RadarBranch
    files: tuple[str, ...] | None


class RadarResult(NamedTuple):
    """All branches, and the result for each pair; pairs with the target come first.

    If branches were chosen, only pairs with one of them are included. `absent` are chosen workers
    that are not compared: they are not at work, or have no commits of their own.
    """

    target: RadarBranch
    blips: tuple[RadarBranch, ...]
    meetings: tuple[BranchPair, ...]
    verdicts: Verdicts
    absent: tuple[str, ...] = ()

    @property
    def conflicts(self) -> tuple[BranchPair, ...]:
        """Return the pairs that conflict."""
        return tuple(meeting for meeting in self.meetings if meeting.files)

    @property
    def unknown(self) -> tuple[BranchPair, ...]:
        """Return the pairs that git could not merge."""
        return tuple(meeting for meeting in self.meetings if meeting.files is None)


def survey(
    session: Session,
    workers: Sequence[Worker] | None = None,
    *,
    chosen: Set[Ref] | None = None,
) -> RadarResult:
    """Return the conflicts of the active branches with their targets and with each other.

    The branches of a workstream that has a branch of its own are compared with that branch and with
    each other.

    `workers` are all workers, if already read; `chosen` are branches (the target may be one) of
    which each pair must have one. Pairs that are not cached are merged in memory and stored. Raises
    Refused without a target.
    """
    if workers is None:
        with session.store.read() as reader:
            workers = all_workers(reader)
    watched = watched_branches(workers)
    groups: dict[Ref, dict[Ref, Worker]] = {
        one: {} for one in targets_of(session, watched.values())
    }
    for ref, worker in watched.items():
        groups[session.target_of(worker)][ref] = worker
    main = session.aimed_at(None)
    found, *others = [
        _survey_group(main if ref == main.target else main.aimed_at(ref), group, chosen)
        for ref, group in groups.items()
    ]
    targets = [one.target.tip for one in (found, *others)]
    for other in others:
        found = found._replace(
            blips=(*found.blips, *other.blips), meetings=(*found.meetings, *other.meetings),
            verdicts=together(found.verdicts, other.verdicts),
        )  # fmt: skip
    if (found.verdicts.merged or found.verdicts.skipped) and not session.store.is_read_only:
        with session.store.write_own(durable=False) as writer:
            prune(writer, targets=targets, live=[blip.tip for blip in found.blips])
    return found


def _survey_group(
    session: Session, branches: dict[Ref, Worker], chosen: Set[Ref] | None
) -> RadarResult:
    """Return the conflicts of the branches that land on the session's target."""
    target, blips = _find_blips(session, branches)
    pairs_of_blips = [(blip, target) for blip in blips]
    pairs_of_blips += combinations(blips, 2)
    if chosen is not None:
        pairs_of_blips = [(a, b) for a, b in pairs_of_blips if a.ref in chosen or b.ref in chosen]
    wanted = {pair_of_blips: _pair(pair_of_blips, target) for pair_of_blips in pairs_of_blips}
    verdicts = _judge(session, wanted, target=target)
    meetings = [
        BranchPair(*pair_of_blips, verdicts.files.get(pair))
        for pair_of_blips, pair in wanted.items()
    ]
    return RadarResult(target, blips, tuple(meetings), verdicts)


def conflicting_pairs(
    session: Session, tips: Sequence[Oid], *, target: Oid, compute: bool = True
) -> set[tuple[int, int]]:
    """Return the pairs of these commits that conflict, as indexes in `tips`, lower first.

    A pair that is not in the cache is merged if `compute`, otherwise it counts as no conflict. So
    does a pair that git cannot merge.
    """
    indexes = list(combinations(range(len(tips)), 2))
    pairs = {at: pair_of(tips[at[0]], tips[at[1]], target=target) for at in indexes}
    files = judge(session, pairs.values(), target=target, compute=compute).files
    return {at for at, pair in pairs.items() if files.get(pair)}


def _judge(
    session: Session, wanted: Mapping[tuple[RadarBranch, RadarBranch], Pair], *, target: RadarBranch
) -> Verdicts:
    """Merge the branches with each other, and rebase them onto the target."""
    tips = [one.tip for one, other in wanted if other == target]
    rebased = judge_rebases(session, tips, target=target.tip)
    merged = judge(
        session, [pair for (_, other), pair in wanted.items() if other != target], target=target.tip
    )
    return together(rebased, merged)


def _find_blips(
    session: Session, branches: dict[Ref, Worker]
) -> tuple[RadarBranch, tuple[RadarBranch, ...]]:
    """Return the target and the branches with commits of their own, by worker."""
    refs = read_branches(
        session.git,
        session.repository.common_dir,
        [session.target, *branches],
        git_config=session.git_config,
    )
    tip = refs.get(session.target)
    if tip is None:
        raise missing_target(session)
    blips = [
        RadarBranch(ref, refs[ref], worker.worker_id, worker.task_id)
        for ref, worker in branches.items()
        if ref in refs
    ]
    ahead = find_ahead(session, target=tip, tips=[blip.tip for blip in blips]) if blips else set()
    return RadarBranch(session.target, tip), tuple(blip for blip in blips if blip.tip in ahead)


def _pair(pair_of_blips: tuple[RadarBranch, RadarBranch], target: RadarBranch) -> Pair:
    return pair_of(pair_of_blips[0].tip, pair_of_blips[1].tip, target=target.tip)
