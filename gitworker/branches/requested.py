"""Compare a branch with the commits that its worker handed in: an approval is for those only."""

from typing import NamedTuple

from gitworker.branches.replay_branch import BranchTips
from gitworker.branches.stack import own_fork_point
from gitworker.errors import Conflict, Invalid
from gitworker.model.ids import Oid
from gitworker.repo.history.patch_ids import fingerprints_by_commit, patches_by_commit
from gitworker.repo.history.rules_approval import is_covered, is_still_approved, patch_of
from gitworker.repo.history.walk import read_subjects
from gitworker.session import Session
from gitworker.store.operations import find_last_operation
from gitworker.store.records.reviews import Review, find_review
from gitworker.store.workers import Worker

LISTED_AT_MOST = 20


class LaterCommits(NamedTuple):
    """The difference between a branch and the commits that were handed in, or approved since.

    `later` are commits, oldest first, that were not looked at. If it is empty, handed-in commits
    are missing or in another order.
    """

    handed_in: Oid
    later: tuple[Oid, ...]


def find_requested(session: Session, worker: Worker) -> Oid | None:
    """Return the commit that was submitted last."""
    with session.store.read() as reader:
        review = find_review(reader, worker.worker_id, worker.task_id, "requested")
    return None if review is None else Oid(review.commit_oid)


def find_later(session: Session, worker: Worker, tips: BranchTips) -> LaterCommits | None:
    """Return how a branch differs from the commits that were handed in; None if it does not.

    A rebase of them is no difference. An approval that followed the request and was withdrawn since
    counts as well, unless it was undone: its commits were looked at.
    """
    seen = _seen_reviews(session, worker)
    if not seen or tips.branch in {review.commit_oid for review in seen}:
        return None
    present = _own_commits(session, worker, tips.branch, tips.target)
    if not present:
        return None
    found = [_differs(session, worker, review, present, target=tips.target) for review in seen]
    if None in found:
        return None
    return LaterCommits(Oid(seen[0].commit_oid), min(filter(None, found), key=len, default=()))


def require_tip(session: Session, worker: Worker, tips: BranchTips, wanted: Oid) -> None:
    """Raise Invalid or Conflict unless `wanted` is the tip of the worker's branch.

    An approval of an earlier commit could not land: the branch keeps the later ones.
    """
    if wanted == tips.branch:
        return
    if wanted not in _own_commits(session, worker, tips.branch, tips.target):
        raise Invalid(
            f"{wanted[:12]} is not a commit of {worker.branch}",
            f"git worker diff {worker.worker_id}",
            code="not_on_branch",
        )
    above = session.git.text("rev-list", "--reverse", f"{wanted}..{tips.branch}", "--").split()
    raise Conflict(
        f"--at takes the newest commit of {worker.branch}, and {len(above)} came after"
        f" {wanted[:12]}",
        f"git worker approve {worker.worker_id} --at {tips.branch[:12]}   # or: git worker reject"
        f" {worker.worker_id} -m 'Remove them'",
        code="not_the_tip",
        detail=_listed(session, [Oid(oid) for oid in above]),
    )


def later_refusal(
    session: Session, worker: Worker, tips: BranchTips, found: LaterCommits
) -> Conflict:
    """Return the refusal of an approval that would cover commits that were not handed in."""
    name, count = worker.worker_id, len(found.later)
    if count:
        which = "a later commit" if count == 1 else f"{count} later commits"
        message = f"{worker.branch} has {which} than {found.handed_in[:12]}, which was handed in"
    else:
        message = (
            f"the commits of {worker.branch} are not the ones that were handed in as"
            f" {found.handed_in[:12]}"
        )
    return Conflict(
        message,
        f"git worker approve {name} --at {tips.branch[:12]}   # after: git worker diff {name}",
        code="later_commits",
        detail=_listed(session, found.later),
    )


def _seen_reviews(session: Session, worker: Worker) -> list[Review]:
    """Return the last request and the approval that followed it, if they are on record."""
    name, task = worker.worker_id, worker.task_id
    with session.store.read() as reader:
        requested = find_review(reader, name, task, "requested")
        approved = find_review(reader, name, task, "approved")
        operation = find_last_operation(reader, "approve", worker=name, task=task)
    if requested is None:
        return []
    was_undone = operation is None or operation.status == "undone"
    if approved is None or approved.id < requested.id or was_undone:
        return [requested]
    return [requested, approved]


def _own_commits(session: Session, worker: Worker, tip: Oid, target: Oid) -> dict[Oid, str]:
    """Return the fingerprint of each commit of the branch's own; {} if git does not have them."""
    if session.git.find_oid(tip) is None:
        return {}
    fork_point = own_fork_point(session, worker, tip=tip, target=target)
    known = [target, *([fork_point] if fork_point else [])]
    return fingerprints_by_commit(session.git, [tip, *(f"^{oid}" for oid in known)])


def _differs(
    session: Session, worker: Worker, review: Review, present: dict[Oid, str], *, target: Oid
) -> tuple[Oid, ...] | None:
    """Return the present commits that a review does not cover; None if the branch is unchanged."""
    seen = review.patches or list(
        _own_commits(session, worker, Oid(review.commit_oid), target).values()
    )
    missing = {patch_of(one) for one in seen} - {patch_of(one) for one in present.values()}
    landed: dict[Oid, str] = {}
    if missing and session.git.find_oid(review.commit_oid) is not None:
        landed = patches_by_commit(session.git, [target, f"^{review.commit_oid}"])
    if is_still_approved(seen, list(present.values()), upstream=landed.values()):
        return None
    return tuple(oid for oid, record in present.items() if not is_covered(seen, record))


def _listed(session: Session, commits: tuple[Oid, ...] | list[Oid]) -> str:
    """Return a line for each commit, at most 20."""
    shown = commits[:LISTED_AT_MOST]
    subjects = read_subjects(session.git, set(shown))
    lines = [f"  {oid[:7]} {subjects.get(oid, '')}" for oid in shown]
    if len(commits) > len(shown):
        lines.append(f"  and {len(commits) - len(shown)} more")
    return "\n".join(lines)
