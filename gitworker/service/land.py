"""land: approve the work that still waits for review, then merge it, in one process."""

from collections.abc import Sequence

from gitworker.landing.merge import choose, merge
from gitworker.lifecycle.rules import is_judged
from gitworker.model.outcome import Landed, NotLanded
from gitworker.progress import WorkersLanded
from gitworker.repo.replay.replay_cache import ReplayCache
from gitworker.session import Session
from gitworker.verify.trust import require_trusted
from gitworker.workers.approve import Approved, NotApproved, approve_all, waiting_workers
from gitworker.worktrees.prefetched_checks import start_early_checks


def land(
    session: Session,
    names: Sequence[str],
    *,
    everything: bool = False,
    keep: bool = False,
    note: str = "",
) -> list[Landed | NotLanded]:
    """Approve workers whose approval is still open, and land them as `merge` does.

    With `everything`, all workers that wait for review and all approved ones. A worker that cannot
    be approved is reported and not merged; the others still land. Raises Refused, before any
    change, if the caller may not land a worker or the repository's verify commands are not trusted.
    """
    named = choose(session, list(names), everything=everything)
    require_trusted(session)
    if everything:
        to_approve = waiting_workers(session)
    else:
        to_approve = [one.worker_id for one in named if not is_judged(one.state)]
    checks, memory = None, ReplayCache(session.git_config)
    if not (keep or everything or session.settings.merge_remote):
        checks = start_early_checks(session, named, in_review=True)
    approvals: list[Approved | NotApproved] = []
    if to_approve:
        approvals = approve_all(session, to_approve, note=note, memory=memory, checks=checks)
    refused: dict[str, Landed | NotLanded] = {
        one.worker_id: NotLanded(one.worker_id, one.error)
        for one in approvals
        if isinstance(one, NotApproved)
    }
    if refused:
        session.report(WorkersLanded(list(refused.values())))
    if everything:
        return [*refused.values(), *merge(session, [], everything=True, keep=keep, skip=refused)]
    left: list[str] = [one.worker_id for one in named if one.worker_id not in refused]
    merged = merge(session, left, keep=keep, memory=memory) if left else []
    results = refused | {one.worker_id: one for one in merged}
    return [results[one.worker_id] for one in named if one.worker_id in results]
