"""The radar: which active branches conflict with the target and with each other, in which files."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import combinations
from typing import NamedTuple

from gitworker.bus.jobs.radar_job import watched_branches
from gitworker.model.ids import Oid, Ref
from gitworker.radar.pair_verdicts import Verdicts, find_ahead, judge, pair_of, prune
from gitworker.radar.rules_radar import Pair
from gitworker.repo.plumbing.refs import read_branches
from gitworker.session import Session, missing_target
from gitworker.store.workers import Worker, all_workers


class Blip(NamedTuple):
    """One branch on the radar; the target has neither worker nor task."""

    ref: Ref
    tip: Oid
    worker: str | None = None
    task: str | None = None

    @property
    def branch(self) -> str:
        """Return the branch's short name."""
        return self.ref.removeprefix("refs/heads/")

    @property
    def name(self) -> str:
        """Return the worker, or the target's branch."""
        return self.worker or self.branch


class Meeting(NamedTuple):
    """Two branches and the paths in conflict, sorted; none where they merge, None if unknown.

    The second is the target where the target is one of them.
    """

    one: Blip
    other: Blip
    files: tuple[str, ...] | None


class Survey(NamedTuple):
    """Who is on the radar, and how each two of them get on; those with the target come first.

    Only pairs with a chosen branch are there, where branches were chosen.
    """

    target: Blip
    blips: tuple[Blip, ...]
    meetings: tuple[Meeting, ...]
    verdicts: Verdicts

    @property
    def conflicts(self) -> tuple[Meeting, ...]:
        """Return the pairs that conflict."""
        return tuple(meeting for meeting in self.meetings if meeting.files)

    @property
    def unknown(self) -> tuple[Meeting, ...]:
        """Return the pairs that git could not merge."""
        return tuple(meeting for meeting in self.meetings if meeting.files is None)


def survey(
    session: Session,
    workers: Sequence[Worker] | None = None,
    *,
    chosen: Set[Ref] | None = None,
) -> Survey:
    """Return how the active branches get on with the target and with each other.

    `workers` are all of them, where somebody has just read them; `chosen` are branches, the target
    among them perhaps, of each of which a pair must have one. Merges in memory what is not cached,
    and keeps it. Raises Refused without a target.
    """
    if workers is None:
        with session.store.read() as reader:
            workers = all_workers(reader)
    target, blips = _find_blips(session, watched_branches(workers))
    couples = [(blip, target) for blip in blips]
    couples += combinations(blips, 2)
    if chosen is not None:
        couples = [(a, b) for a, b in couples if a.ref in chosen or b.ref in chosen]
    wanted = {couple: _pair(couple, target) for couple in couples}
    verdicts = judge(session, wanted.values(), target=target.tip)
    if (verdicts.merged or verdicts.skipped) and not session.store.is_read_only:
        with session.store.write(durable=False) as writer:
            prune(writer, target=target.tip, live=[blip.tip for blip in blips])
    meetings = [Meeting(*couple, verdicts.files.get(pair)) for couple, pair in wanted.items()]
    return Survey(target, blips, tuple(meetings), verdicts)


def conflicting_pairs(
    session: Session, tips: Sequence[Oid], *, target: Oid, compute: bool = True
) -> set[tuple[int, int]]:
    """Return which of these commits conflict with each other, as places in `tips`, lower first.

    What is not in the cache is merged if `compute`, else it counts as no conflict. A pair that git
    cannot merge counts as none either.
    """
    places = list(combinations(range(len(tips)), 2))
    pairs = {at: pair_of(tips[at[0]], tips[at[1]], target=target) for at in places}
    files = judge(session, pairs.values(), target=target, compute=compute).files
    return {at for at, pair in pairs.items() if files.get(pair)}


def _find_blips(session: Session, branches: dict[Ref, Worker]) -> tuple[Blip, tuple[Blip, ...]]:
    """Return the target and those branches that have commits of their own, by worker."""
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
        Blip(ref, refs[ref], worker.worker_id, worker.task_id)
        for ref, worker in branches.items()
        if ref in refs
    ]
    ahead = find_ahead(session, target=tip, tips=[blip.tip for blip in blips]) if blips else set()
    return Blip(session.target, tip), tuple(blip for blip in blips if blip.tip in ahead)


def _pair(couple: tuple[Blip, Blip], target: Blip) -> Pair:
    return pair_of(couple[0].tip, couple[1].tip, target=target.tip)
