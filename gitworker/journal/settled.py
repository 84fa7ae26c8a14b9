"""The result of settling: interrupted operations that ended, and those that are still open."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gitworker.errors import GitWorkerError, as_gitworker_error
from gitworker.session import Session
from gitworker.store.operations import Operation


class Unfinished(NamedTuple):
    """An interrupted operation that can neither be finished nor rolled back now, and the reason."""

    operation: Operation
    error: GitWorkerError


class Settled(NamedTuple):
    """The interrupted operations that were ended, and those that stay open.

    `unpublished` is the reason why views and logs are not up to date; None if they are.
    """

    ended: list[Operation]
    left: list[Unfinished]
    unpublished: GitWorkerError | None = None


def end_each(
    session: Session,
    pending: Sequence[Operation],
    end: Callable[[Session, Operation], object],
) -> Settled:
    """End these operations; one that cannot be ended stops only others of the same worker."""
    settled = Settled([], [])
    held: dict[str, GitWorkerError] = {}
    for operation in pending:
        error = held.get(operation.worker_id)
        if error is None:
            try:
                end(session, operation)
            except Exception as failure:  # noqa: BLE001 - one operation never blocks all
                held[operation.worker_id] = error = as_gitworker_error(failure)
        if error is None:
            settled.ended.append(operation)
        else:
            settled.left.append(Unfinished(operation, error))
    if settled.ended:  # an approval recorded only now changes state files too
        from gitworker.lifecycle.state_files import publish_views  # 2 ms, only after a crash

        publish_views(session, *{operation.worker_id for operation in settled.ended})
    return settled
