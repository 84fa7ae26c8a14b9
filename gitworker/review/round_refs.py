"""Refs that keep the commits of rounds, which an author amends or rebases away.

Without them git deletes these commits when the reflogs expire, and no earlier round can be compared
any more. `gc` deletes them some days after the end of the task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.lifecycle.rules import FREE
from gitworker.model.ref_names import round_ref
from gitworker.repo.history.reachable import find_missing
from gitworker.repo.plumbing.refs import (
    change_refs,
    create_loose_ref,
    find_tip,
    read_loose_refs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitworker.model.ids import Oid, Ref
    from gitworker.session import Session
    from gitworker.store.reviewing.rounds import Round
    from gitworker.store.workers import Worker

REASON = "gitworker: round"


def keep_rounds(session: Session, worker: Worker, rounds: Sequence[Round]) -> None:
    """Create the missing refs of the rounds of a worker's task; one for a new round by its file.

    A sandbox may allow a worker to hand in, but not to create these refs. Then nothing happens
    here, and the next command that reads the review creates them.
    """
    if worker.state in FREE or session.store.is_read_only:
        return
    wanted = {
        round_ref(worker.worker_id, worker.task, one.number): one.tip
        for one in rounds
        if one.number
    }
    common_dir = session.repository.common_dir
    present = read_loose_refs(common_dir, list(wanted)) or {}
    lost = {ref: oid for ref, oid in wanted.items() if present.get(ref) != oid}
    if len(lost) == 1 and "core.sharedrepository" not in session.git_config:  # else git sets rights
        ((ref, oid),) = lost.items()
        branch = find_tip(session.git, common_dir, worker.ref)
        if ref not in present and branch == oid and create_loose_ref(common_dir, ref, oid):
            return
    if lost and not change_refs(session.git, _orders(lost), reason=REASON):
        missing = find_missing(session.git, set(lost.values()))
        orders = _orders({ref: oid for ref, oid in lost.items() if oid not in missing})
        if missing and orders:
            change_refs(session.git, orders, reason=REASON)


def _orders(refs: Mapping[Ref, Oid]) -> list[str]:
    return [f"update {ref} {oid}" for ref, oid in refs.items()]
