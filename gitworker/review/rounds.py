"""Rounds: the record of a hand-in with its commits, which later rounds are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.errors import Conflict, NotFound
from gitworker.model.ids import Oid
from gitworker.observe.workers.stack_base import own_fork_point
from gitworker.repo.history.patch_ids import EMPTY, read_patched
from gitworker.repo.plumbing.refs import find_ref
from gitworker.store.records.reviews import find_review
from gitworker.store.reviewing.rounds import (
    Round,
    RoundCommit,
    add_round,
    find_newest_round,
    rounds_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.repo.history.patch_ids import PatchedCommit
    from gitworker.session import Session
    from gitworker.store.api import Writer
    from gitworker.store.workers import Worker


class RoundFacts(NamedTuple):
    """The commits of a branch that a round records, oldest first."""

    base: Oid
    tip: Oid
    commits: tuple[RoundCommit, ...]


def read_round(session: Session, worker: Worker, *, tip: Oid, target: Oid) -> RoundFacts:
    """Return the commits of a worker's branch since it left the target, or its parent's branch."""
    own = own_fork_point(session, worker, tip=tip, target=target)
    found = read_patched(session.git, [tip, f"^{own or target}"])
    commits = [
        RoundCommit(one.commit, one.patch, one.author, one.message)
        for one in found
        if len(one.parents) < 2
    ]
    return RoundFacts(own or _find_base(session, found, tip, target), tip, tuple(commits))


def _find_base(session: Session, own: Sequence[PatchedCommit], tip: Oid, target: Oid) -> Oid:
    """Return the commit before a branch's own commits; the target if its first has no parent.

    git is asked only for a branch with a merge, or without a commit of its own.
    """
    if own and all(len(one.parents) < 2 for one in own):
        return own[0].parents[0] if own[0].parents else target
    done = session.git.run("merge-base", tip, target, ok=(0, 1))
    return Oid(done.text.strip()) if done.status == 0 else target


def later_commits(now: Sequence[RoundCommit], before: Sequence[Round]) -> list[Oid]:
    """Return the commits that no earlier round had, by id or by patch; an empty one is left out."""
    earlier = [one for round in before for one in round.commits]
    commits = {one.commit for one in earlier}
    patches = {one.patch for one in earlier} | {EMPTY}
    return [one.commit for one in now if one.commit not in commits and one.patch not in patches]


def rounds_with(session: Session, worker: Worker, facts: RoundFacts, *, now: int) -> list[Round]:
    """Return the rounds of a worker's task, with the one that `record_round` would add."""
    with session.store.read() as reader:
        rounds = rounds_of(reader, worker.worker_id, worker.task_id)
    newest = rounds[-1] if rounds else None
    if newest is None or (newest.base, newest.tip) != (facts.base, facts.tip):
        number = newest.number + 1 if newest else 1
        rounds.append(Round(number, facts.base, facts.tip, facts.commits, now))
    return rounds


def record_round(writer: Writer, worker: Worker, facts: RoundFacts, *, now: int) -> Round:
    """Record a hand-in; the same base and tip once more are the same round."""
    return add_round(
        writer, worker.worker_id, worker.task,
        base=facts.base, tip=facts.tip, commits=facts.commits, now=now,
    )  # fmt: skip


def require_round(session: Session, worker: Worker) -> Round:
    """Return the newest round of a worker's task; raise NotFound if nothing was handed in yet."""
    found = find_round(session, worker)
    if found is None:
        raise NotFound(
            f"worker {worker.worker_id} has not handed in anything yet",
            f"git worker diff {worker.worker_id}",
        )
    return found


def require_seen(session: Session, worker: Worker, at: str | None) -> Round:
    """Return the newest round; raise Conflict unless `at` is its tip, or None."""
    found = require_round(session, worker)
    if at not in (None, found.tip):
        raise _later(worker, found)
    return found


def round_at(session: Session, worker: Worker, at: str | None) -> Round:
    """Return the newest round with the tip `at`; the newest of all if that is None.

    Raises Conflict if no round of the task has it.
    """
    newest = require_round(session, worker)
    if at is None:
        return newest
    with session.store.read() as reader:
        rounds = rounds_of(reader, worker.worker_id, worker.task_id)
    found = next((one for one in reversed(rounds) if one.tip == at), None)
    if found is None:
        raise _later(worker, newest)
    return found


def _later(worker: Worker, newest: Round) -> Conflict:
    return Conflict(
        f"round {newest.number} of {worker.worker_id} was handed in meanwhile; read it first",
        f"git worker review {worker.worker_id}",
        code="other_round",
    )


def find_round(session: Session, worker: Worker) -> Round | None:
    """Return the newest round of a worker's task, or None.

    Work that an older version of gitworker took in gets its round now; a
    store that is read-only keeps none.
    """
    with session.store.read() as reader:
        found = find_newest_round(reader, worker.worker_id, worker.task_id)
        review = find_review(reader, worker.worker_id, worker.task_id, "requested")
    if found is not None or review is None:
        return found
    tip, target = session.git.find_oid(review.commit_oid), find_ref(session.git, session.target)
    if tip is None or target is None:
        return None
    facts = read_round(session, worker, tip=tip, target=target)
    if session.store.is_read_only:
        return Round(1, facts.base, facts.tip, facts.commits, review.ts_ms)
    with session.store.write() as writer:
        return record_round(writer, worker, facts, now=review.ts_ms)
