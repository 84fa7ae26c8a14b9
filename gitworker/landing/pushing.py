"""Landing on a remote: the pushes of a run, and recovery of an interrupted push."""

from contextlib import suppress
from random import random

from gitworker.branches.remote import (
    NOT_TAKEN_CODES,
    PushResult,
    Remote,
    known_remotes,
    open_remote,
)
from gitworker.branches.rules_remote import push_delay_s
from gitworker.errors import Conflict, NotFound
from gitworker.journal.finish_landing import ANSWERED, PUSHING
from gitworker.journal.recover import finish_interrupted
from gitworker.journal.settled import Settled
from gitworker.landing.window import PushRefused, note_step
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.remote.rules_transfer import TransferFailed
from gitworker.session import Session
from gitworker.store.operations import unfinished_operations
from gitworker.store.payloads.payload import MergeData


class RemoteMoved(Conflict):
    """The target's branch on the remote moved before our push."""

    def __init__(self, remote: Remote) -> None:
        super().__init__(
            f"{remote.branch} of {remote.name} has moved since it was fetched",
            "git worker merge --all",
            code="remote_moved",
        )


class Pushing:
    """The pushes of one run of the queue, and the delay after pushes that came too late."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote
        self.rejected = 0

    def push(self, new: Oid, expect: Oid) -> None:
        """Push; raise PushRefused if the remote certainly did not take the commits."""
        try:
            pushed = self.remote.push(new, expect=expect)
        except TransferFailed as failure:
            if failure.code in NOT_TAKEN_CODES:
                raise PushRefused(failure) from failure
            raise
        if pushed is PushResult.MOVED:
            raise PushRefused(RemoteMoved(self.remote))
        self.rejected = 0

    @staticmethod
    def came_too_late(error: Exception) -> bool:
        """Return whether an error of a landing means that the remote has moved."""
        return isinstance(error, RemoteMoved)

    def delay_s(self) -> float | None:
        """Count a push that came too late; return the delay before the next, None to give up."""
        self.rejected += 1
        return push_delay_s(self.rejected, random())


def open_pushing(session: Session) -> Pushing | None:
    """Return the pushes to the remote of the settings, None without one; raises Refused."""
    remote = open_remote(session)
    return None if remote is None else Pushing(remote)


def settle_pushes(session: Session) -> None:
    """Query the remotes of interrupted pushes, so that recovery knows their outcome.

    The caller holds the landing lock. Raises TransferFailed if a remote cannot be reached.
    """
    with session.store.read() as reader:
        pending = [one for one in unfinished_operations(reader) if one.step == PUSHING]
    remotes = {one.id: str(one.payload(MergeData).remote) for one in pending}
    for name in sorted(set(remotes.values())):
        if name in known_remotes(session):
            with suppress(NotFound):  # the branch does not exist there: it took no commits
                Remote(session._replace(is_interactive=False), name).fetch()
        note_step(
            session, [number for number, remote in remotes.items() if remote == name], ANSWERED
        )


def recover_pushes(session: Session) -> Settled:
    """Query the remotes, then finish or roll back the landings whose push was interrupted."""
    with hold(session.landing_lock, name="landing"):
        settle_pushes(session)
        return finish_interrupted(session)
