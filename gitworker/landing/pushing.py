"""Landing on a remote: the pushes of a run, and what became of one that was cut off."""

from contextlib import suppress
from random import random

from gitworker.branches.remote import SURE, PushResult, Remote, known_remotes
from gitworker.branches.rules_remote import push_delay_s
from gitworker.errors import Conflict, NotFound
from gitworker.journal.finish_landing import ANSWERED, PUSHING
from gitworker.journal.recover import finish_interrupted
from gitworker.journal.settled import Settled
from gitworker.landing.window import PushRefused, note_step
from gitworker.model.ids import Oid
from gitworker.repo.plumbing.lock import hold
from gitworker.repo.remote.rules_transfer import TransferFailed
from gitworker.session import Session
from gitworker.store.operations import unfinished_operations


class RemoteMoved(Conflict):
    """Somebody else pushed to the target's branch first."""

    def __init__(self, remote: Remote) -> None:
        super().__init__(
            f"{remote.branch} of {remote.name} has moved meanwhile",
            "git worker merge --all",
            code="remote_moved",
        )


class Pushing:
    """The pushes of one run of the queue, and how long to wait after those that came too late."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote
        self.rejected = 0

    def push(self, new: Oid, expect: Oid) -> None:
        """Push; raise PushRefused where the remote surely has not taken the commits."""
        try:
            pushed = self.remote.push(new, expect=expect)
        except TransferFailed as failure:
            if failure.code in SURE:
                raise PushRefused(failure) from failure
            raise
        if pushed is PushResult.MOVED:
            raise PushRefused(RemoteMoved(self.remote))
        self.rejected = 0

    def delay_s(self) -> float | None:
        """Count a push that came too late; return how long to wait, None to give up."""
        self.rejected += 1
        return push_delay_s(self.rejected, random())


def settle_pushes(session: Session) -> None:
    """Ask the remotes of pushes that were cut off, so that recovery knows what became of them.

    For who holds the landing lock. Raises TransferFailed where a remote cannot be asked.
    """
    with session.store.read() as reader:
        pending = [one for one in unfinished_operations(reader) if one.step == PUSHING]
    for name in sorted({str(one.data["remote"]) for one in pending}):
        if name in known_remotes(session):
            with suppress(NotFound):  # it has no such branch, and so has not taken the commits
                Remote(session, name).fetch()
        note_step(session, [one.id for one in pending if one.data["remote"] == name], ANSWERED)


def recover_pushes(session: Session) -> Settled:
    """Ask the remotes, then finish or take back what was cut off in a push."""
    with hold(session.landing_lock, what="landing"):
        settle_pushes(session)
        return finish_interrupted(session)
