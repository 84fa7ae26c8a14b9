"""land: approve the work that still waits for review, then merge it, in one process."""

from collections.abc import Sequence

from gitworker.landing.merge import choose, merge
from gitworker.lifecycle.rules import is_judged
from gitworker.model.outcome import Landed, NotLanded
from gitworker.progress import WorkersLanded
from gitworker.session import Session
from gitworker.verify.verify import require_trusted
from gitworker.workers.approve import NotApproved, approve_all, waiting_workers


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
    approvals = approve_all(session, to_approve, note=note) if to_approve else []
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
    merged = merge(session, left, keep=keep) if left else []
    results = refused | {one.worker_id: one for one in merged}
    return [results[one.worker_id] for one in named if one.worker_id in results]
