"""Let the other machines of a fleet verify prefixes of a window, each by a claim.

The machine that lands the window pushes its commits to a ref of the remote and records the offer.
It and the others take prefixes by claims, so that no two of them verify the same. All machines
share the verdicts. The landing does not depend on the others: its machine verifies every prefix
that is not taken, and does not wait for a taken one if it has nothing else to verify.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.claims.leases import find_claim, release_held_claim, renew_claim, take_claim
from gitworker.claims.rules_claim import ClaimTaken
from gitworker.errors import Conflict, GitWorkerError, NotFound
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import WINDOWS
from gitworker.progress import Notice
from gitworker.repo.remote.push import delete_branches, push_commit
from gitworker.repo.remote.rules_transfer import TransferFailed
from gitworker.store.backend import serve_fleet
from gitworker.store.claims import evict_claim
from gitworker.store.fleet.machines import landing_machines, silent_machines
from gitworker.store.rules_leases import LeaseLength
from gitworker.store.windows import Offer, offer_window, own_offers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitworker.branches.remote import Remote
    from gitworker.session import Session
    from gitworker.store.api import Reader

LEASE = LeaseLength(60_000, is_fixed=True)
RENEW_EVERY_MS = 20_000


class PrefixClaims:
    """The claims of a machine on the prefixes of a window; its name as a holder is no worker's."""

    def __init__(self, session: Session, machine: str, window: int) -> None:
        self._holder = _holder_of(machine)
        self._window = window
        self._session = session
        self._held: dict[int, int] = {}  # when each was renewed

    def take(self, prefix: int) -> bool:
        """Take a prefix; return False if another machine has it."""
        try:
            with self._session.store.write() as writer:
                take_claim(writer, self._name(prefix), self._holder, length=LEASE)
        except ClaimTaken:
            return False
        self._held[prefix] = clock.monotonic_ms()
        return True

    def renew(self) -> None:
        """Renew the claims that are due; one that another machine has taken meanwhile stays so."""
        now = clock.monotonic_ms()
        for prefix, since in list(self._held.items()):
            if now - since >= RENEW_EVERY_MS:
                self._held[prefix] = now
                with suppress(Conflict, NotFound), self._session.store.write() as writer:
                    renew_claim(writer, self._name(prefix), self._holder)

    def release(self, prefix: int) -> None:
        """Release a prefix if it is held."""
        if self._held.pop(prefix, None) is not None:
            with suppress(Conflict, NotFound), self._session.store.write() as writer:
                release_held_claim(writer, self._name(prefix), self._holder)

    def release_all(self) -> None:
        """Release all prefixes of this machine."""
        for prefix in list(self._held):
            self.release(prefix)

    def end(self, size: int) -> None:
        """End all claims on the prefixes of a window of `size` workers, also of other machines."""
        names = [self._name(one) for one in range(1, size + 1)]
        with self._session.store.write() as writer:
            for name in names:
                if find_claim(writer, name) is not None:
                    evict_claim(writer, name)

    def of_others(self, reader: Reader, size: int) -> frozenset[int]:
        """Return the prefixes of a window of `size` workers that other machines verify now."""
        gone = {self._holder, *map(_holder_of, silent_machines(reader))}
        claims = ((one, find_claim(reader, self._name(one))) for one in range(1, size + 1))
        return frozenset(
            prefix
            for prefix, claim in claims
            if claim is not None and claim.is_valid and claim.holder not in gone
        )

    def _name(self, prefix: int) -> str:
        return f"verify:window-{self._window}-first-{prefix}"


def _holder_of(machine: str) -> str:
    return f"machine:{machine}"


class SharedWindow:
    """A window that this machine lands and `helpers` others may verify."""

    def __init__(self, session: Session, claims: PrefixClaims, *, size: int, helpers: int) -> None:
        self.claims = claims
        self.helpers = helpers
        self._session = session
        self._size = size

    def of_others(self) -> frozenset[int]:
        """Return the prefixes that other machines verify now; renew the own claims."""
        serve_fleet(self._session.store)  # news of the others come by the link
        self.claims.renew()
        with self._session.store.read() as reader:
            return self.claims.of_others(reader, self._size)


@contextmanager
def share(
    session: Session, number: int, remote: Remote, *, commits: list[Oid], key: str
) -> Iterator[SharedWindow | None]:
    """Offer a window to the machines whose runs land work; give None if no other one can help.

    `commits` are the last commits of its prefixes; `key` are the inputs of a run on the last one.
    At the end the offer is withdrawn, or by the next one if the fleet cannot be reached then.
    """
    machine, tip = session.store.fleet_machine, commits[-1]
    helpers = _count_helpers(session, machine) if len(commits) > 1 else 0
    if machine is None or not (helpers and _offer(session, number, remote, tip=tip, key=key)):
        yield None
        return
    claims = PrefixClaims(session, machine, number)
    try:
        yield SharedWindow(session, claims, size=len(commits), helpers=helpers)
    finally:
        with suppress(GitWorkerError):
            claims.end(len(commits))
            _withdraw_all(session, remote)


def _count_helpers(session: Session, machine: str | None) -> int:
    """Return the number of other machines on which a run lands its work."""
    with session.store.read() as reader:
        return len(landing_machines(reader) - {machine})


def _offer(session: Session, number: int, remote: Remote, *, tip: Oid, key: str) -> bool:
    """Push the commits of a window and record the offer; return False if that is impossible."""
    _withdraw_all(session, remote)  # the offer of a queue that was killed
    ref = Ref(f"{WINDOWS}{number}")
    try:
        push_commit(
            remote.git, remote=remote.name, ref=ref, new=tip, expect=None,
            limit_s=session.settings.merge_remote_timeout_s,
        )  # fmt: skip
    except TransferFailed as error:
        session.report(Notice(f"other machines cannot verify this window: {error.message}"))
        return False
    with session.store.write() as writer:
        offer_window(writer, number, Offer(ref, key))
    return True


def _withdraw_all(session: Session, remote: Remote) -> None:
    """Withdraw the offers of this machine, and delete their refs from the remote."""
    with session.store.read() as reader:
        offers = own_offers(reader, session.store.fleet_machine)
    if not offers:
        return
    tips = {one.offer.ref: Oid(one.tip_oid) for one in offers if one.offer is not None}
    limit_s = session.settings.merge_remote_timeout_s
    delete_branches(remote.git, remote=remote.name, tips=tips, limit_s=limit_s)
    with session.store.write() as writer:
        for one in offers:
            offer_window(writer, one.id, None)
