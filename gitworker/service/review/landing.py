"""The methods of the service for review, verification, trust and landing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.service.open_for_call import ServiceBase

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gitworker.fleet.verify_offered import VerifiedPrefix
    from gitworker.landing.landing_plan import Planned
    from gitworker.model.ids import Oid
    from gitworker.model.outcome import Landed, NotLanded
    from gitworker.session import Session
    from gitworker.store.workers import Worker
    from gitworker.verify.trust import RepositoryCommands, TrustRecord
    from gitworker.verify.verify import Verdict
    from gitworker.workers.approve import Approved, NotApproved


class Verified(NamedTuple):
    """The verdict on a commit, and the name that it was asked for by."""

    label: str
    commit: Oid
    verdict: Verdict


class Rejected(NamedTuple):
    """The worker whose work was sent back, and its next command."""

    worker: Worker
    next_command: str


class ReviewMethods(ServiceBase):
    """Review and landing; see `WorkMethods` for the names of workers and the imports."""

    def approve(
        self, workers: Sequence[str] = (), *, note: str = "", at: str | None = None
    ) -> list[Approved | NotApproved]:
        """Rebase workers' branches onto the target and approve them, each for itself.

        Without workers, all that wait for review. `at`, for a single worker, is the newest commit
        of its branch, which may have come after the submission.
        """
        from gitworker.workers.approve import Approved, approve_all, waiting_workers

        with self._acting() as session:
            note = self._without_secrets(note)
            results = approve_all(session, workers or waiting_workers(session), note=note, at=at)
            return [
                one._replace(next_command=_next_command(session, one.worker))
                if isinstance(one, Approved)
                else one
                for one in results
            ]

    def reject(self, worker: str, *, note: str) -> Rejected:
        """Send a worker's branch back with a request."""
        from gitworker.review.comments.send import reject

        with self._acting() as session:
            rejected = reject(session, worker, note=self._without_secrets(note))
            return Rejected(rejected, _next_command(session, rejected))

    def merge(
        self,
        workers: Sequence[str] = (),
        *,
        everything: bool = False,
        keep: bool = False,
        skip: Collection[str] = (),
        windows: int | None = None,
        is_unattended: bool = False,
    ) -> list[Landed | NotLanded]:
        """Land approved workers, or all of them; events report runs and results on the way.

        Workers in `skip` are left out; after `windows` windows with an outcome the merge ends.
        `is_unattended`: no person has asked for these landings, so undone ones are left out.
        """
        from gitworker.landing.merge import merge

        with self._acting() as session:
            return merge(
                session, list(workers), everything=everything, keep=keep, skip=skip,
                windows=windows, is_unattended=is_unattended,
            )  # fmt: skip

    def land(
        self,
        workers: Sequence[str] = (),
        *,
        everything: bool = False,
        keep: bool = False,
        note: str = "",
    ) -> list[Landed | NotLanded]:
        """Approve workers whose approval is still open, and land them; see `merge`."""
        from gitworker.service.land import land

        with self._acting() as session:
            note = self._without_secrets(note)
            return land(session, workers, everything=everything, keep=keep, note=note)

    def land_seen(self, worker: str, tip: str | None) -> list[Landed | NotLanded]:
        """Land approved work that a screen shows, and send the caller's drafts on it first.

        `tip` is that of the round on the screen; raises Conflict if a newer one was handed in.
        """
        from gitworker.landing.merge import merge
        from gitworker.lifecycle.rules import is_approved
        from gitworker.review.comments.send import send
        from gitworker.review.rounds import require_seen

        with self._acting() as session:
            found = self._worker(session, worker)
            if tip is not None:
                require_seen(session, found, tip)
            if is_approved(found.state):
                send(session, found.worker_id, may_be_empty=True)
            return merge(session, [found.worker_id])

    def plan_merge(self, workers: Sequence[str] = (), *, everything: bool = False) -> list[Planned]:
        """Return the windows in which workers would land if all of them pass."""
        from gitworker.landing.landing_plan import plan

        with self._reading() as session:
            return plan(session, list(workers), everything=everything)

    def verify(self, name: str | None = None, *, force: bool = False) -> Verified:
        """Run the verify commands on a commit, unless their verdict is known.

        `name` is a worker or a revision, by default the caller's own branch or else the target.
        """
        from gitworker.verify.verify_once import verify_once
        from gitworker.worktrees.pool.pool import lender

        with self._acting() as session:
            label, commit = self._find_commit(session, name)
            verdict = verify_once(session, commit, label=label, force=force, lend=lender(session))
            return Verified(label, commit, verdict)

    def verify_offered(self) -> list[VerifiedPrefix]:
        """Verify parts of the windows that other machines of the fleet are about to land."""
        from gitworker.fleet.verify_offered import verify_offered
        from gitworker.worktrees.pool.pool import lender

        with self._acting() as session:
            return verify_offered(session, lend=lender(session))

    def untrusted_commands(self, *kinds: str) -> list[RepositoryCommands]:
        """Return the repository's commands that wait for an agreement, by default of all kinds.

        Raises Refused for a caller that may not agree.
        """
        from gitworker.verify.trust import require_may_trust, untrusted_commands

        with self._acting() as session:
            require_may_trust(session)
            return untrusted_commands(session, *kinds)

    def trust(self, commands: Sequence[RepositoryCommands]) -> None:
        """Record the caller's agreement that these commands may run."""
        from gitworker.verify.trust import require_may_trust, trust

        with self._acting() as session:
            require_may_trust(session)
            trust(session, list(commands))

    def revoke_trust(self, hash: str) -> TrustRecord:
        """End the trust in the commands with a hash, or the beginning of one."""
        from gitworker.verify.trust import revoke

        with self._acting() as session:
            return revoke(session, hash)

    def trusted_commands(self) -> list[TrustRecord]:
        """Return the commands that are trusted."""
        from gitworker.verify.trust import list_trusted

        with self._settled(create=True) as (session, _):
            return list_trusted(session)

    def _find_commit(self, session: Session, name: str | None) -> tuple[str, Oid]:
        """Return a label for people, and the commit of the target, a worker or a revision."""
        from gitworker.app import require_target_tip
        from gitworker.errors import NotFound
        from gitworker.model.ids import RESERVED
        from gitworker.observe.next_step.trouble import missing_branch
        from gitworker.worktrees.elsewhere import bring_branches

        if name is None and session.actor in RESERVED:
            return session.target_name, require_target_tip(session)
        try:
            worker = self._worker(session, name)
        except NotFound:
            if name is None:
                return session.target_name, require_target_tip(session)
            return name, session.git.require_oid(name)
        bring_branches(session, [worker])
        tip = session.git.find_oid(worker.ref) if worker.branch else None
        if tip is None:
            raise missing_branch(session, worker)
        return worker.worker_id, tip


def _next_command(session: Session, worker: Worker) -> str:
    from gitworker.observe.next_step.next_command import read_next_command

    with session.store.read() as reader:
        return read_next_command(session, reader, worker.worker_id, session.actor)
