"""What a hand-in needs in a fleet: a pushed branch, and patience without the network."""

from gitworker import clock
from gitworker.errors import GitWorkerError
from gitworker.model.ids import Oid
from gitworker.progress import Notice
from gitworker.session import Session
from gitworker.store.fleet.machines import PutOffHandIn, put_off_hand_in
from gitworker.store.workers import Worker


def push_for_the_fleet(session: Session, worker: Worker) -> None:
    """In a fleet, push the branch first, so that other machines can fetch what they see.

    A push that is not possible is only reported: the work is handed in all the same.
    """
    if session.store.fleet_machine is None:
        return
    from gitworker.branches.publish_branch import choose_remote, publish_branch  # in a fleet only

    try:
        publish_branch(session, worker, choose_remote(session, worker))
    except GitWorkerError as error:
        again = f"git worker done {worker.worker_id} --push"
        session.report(
            Notice(
                f"warning: other machines cannot fetch the work yet: {error.message}\nhint: {again}"
            )
        )


def put_off(session: Session, worker: Worker, *, note: str, pr_url: str | None) -> Oid:
    """Record a hand-in that is made as soon as the fleet can be reached; return its commit."""
    tip = session.git.require_oid(worker.ref)
    put_off_hand_in(
        session.store,
        PutOffHandIn(worker.worker_id, worker.task, note, pr_url, clock.now_ms()),
    )
    session.report(
        Notice(
            "the fleet cannot be reached: the work is handed in as soon as it can be reached"
            " again: git worker fleet status"
        )
    )
    return tip
