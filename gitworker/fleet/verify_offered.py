"""Verify prefixes of the windows that other machines of the fleet are about to land.

The machine that lands a window has pushed its commits and offered it
(`landing/search/shared_window.py`). The verdicts go to the store that all machines share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.errors import Refused
from gitworker.landing.search.rules_search import next_probes, span_of
from gitworker.landing.search.shared_window import PrefixClaims
from gitworker.model.ids import RESERVED, Oid
from gitworker.repo.remote.fetch import fetch_objects
from gitworker.store.fleet.machines import all_machines, landing_machines, silent_machines
from gitworker.store.windows import offers_of_others
from gitworker.tasks.agents.places import no_fleet
from gitworker.verify.target_settings import require_valid_file
from gitworker.verify.trust import require_trusted
from gitworker.verify.verify import Verifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.landing.search.rules_search import SearchSpan
    from gitworker.model.ids import Ref
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.windows import QueueWindow
    from gitworker.verify.verify import Verdict
    from gitworker.verify.verify_worktree import Lend

LOOK_EVERY_S = 1.0  # whether the verdict is still wanted


class Prefix(NamedTuple):
    """The first `length` workers of a window that another machine offers."""

    window: int
    length: int


class VerifiedPrefix(NamedTuple):
    """The verdict on the first `length` workers of a window of `machine`."""

    window: int
    length: int
    machine: str
    commit: Oid
    verdict: Verdict


def find_wanted(session: Session) -> list[Prefix]:
    """Return the prefixes whose verdicts other machines want and that no machine verifies yet."""
    machine = session.store.fleet_machine
    if machine is None:
        return []
    with session.store.read() as reader:
        return [
            Prefix(window.id, length)
            for window in _offers(reader, machine)
            for length in _wanted(session, reader, window, ())
        ]


def verify_offered(session: Session, *, lend: Lend | None = None) -> list[VerifiedPrefix]:
    """Verify prefixes of other machines' windows until none is wanted; return the verdicts.

    Raises Refused outside a fleet, for a worker and for commands that are not trusted, Invalid if
    the target's settings have an error, TransferFailed if the commits cannot be fetched, and the
    errors of `Verifier`.
    """
    machine = session.store.fleet_machine
    if machine is None:
        raise no_fleet()
    if session.actor not in RESERVED:  # whose shell may be set up to pass
        raise Refused(
            f"worker {session.actor} cannot verify for other machines",
            "git worker verify",
            code="not_allowed",
        )
    require_valid_file(session)
    require_trusted(session)
    found: list[VerifiedPrefix] = []
    with Verifier(session, lend=lend) as verifier:
        helper = _Helper(session, verifier, machine)
        while (window := helper.take(found)) is not None:
            verdict = helper.verify(window)
            if verdict is not None:
                found.append(verdict)
    return found


class _Helper:
    """One run of this machine for the others; it tries each prefix once."""

    def __init__(self, session: Session, verifier: Verifier, machine: str) -> None:
        self._session = session
        self._verifier = verifier
        self._machine = machine
        self._tried: set[Prefix] = set()
        self._fetched: dict[Ref, bool] = {}  # whether a verdict of this machine is valid there
        self._claims: PrefixClaims
        self._length = 0  # of the claimed prefix

    def take(self, own: Sequence[VerifiedPrefix]) -> QueueWindow | None:
        """Claim a wanted prefix and return its window; None if no verdict is wanted.

        `own` are the verdicts of this run, which the other machine may not have seen yet.
        """
        while (found := self._find(own)) is not None:
            window, length = found
            self._tried.add(Prefix(window.id, length))
            if not self._is_valid_for(window):
                continue
            self._claims = PrefixClaims(self._session, self._machine, window.id)
            if self._claims.take(length):
                self._length = length
                return window
        return None

    def verify(self, window: QueueWindow) -> VerifiedPrefix | None:
        """Verify the claimed prefix; return None if its verdict is no longer wanted."""
        commit = _commit(window, self._length)
        try:
            self._verifier.start(commit, label=f"the first {self._length} of {window.machine}")
            while (ended := self._verifier.wait(LOOK_EVERY_S)) is None:
                self._claims.renew()
                if not self._is_open(window):
                    self._verifier.cancel(commit)
                    return None
        finally:
            self._claims.release_all()
        return VerifiedPrefix(
            window.id, self._length, window.machine or "", commit, verdict=ended[1]
        )

    def _find(self, own: Sequence[VerifiedPrefix]) -> tuple[QueueWindow, int] | None:
        with self._session.store.read() as reader:
            for window in _offers(reader, self._machine):
                for length in _wanted(self._session, reader, window, own):
                    if Prefix(window.id, length) not in self._tried:
                        return window, length
        return None

    def _is_valid_for(self, window: QueueWindow) -> bool:
        """Fetch a window; return whether the same commands would run here in the same environment.

        Otherwise the machine that lands it would not accept the verdict.
        """
        offer = window.offer
        assert offer is not None
        if offer.ref not in self._fetched:
            remote = self._session.settings.merge_remote
            limit_s = self._session.settings.merge_remote_timeout_s
            is_there = fetch_objects(
                self._session.git.at(self._session.main_top), remote=remote, ref=offer.ref,
                limit_s=limit_s,
            )  # fmt: skip
            tip = Oid(window.tip_oid)
            self._fetched[offer.ref] = is_there and self._verifier.key_of(tip) == offer.key
        return self._fetched[offer.ref]

    def _is_open(self, window: QueueWindow) -> bool:
        """Return whether the claimed prefix still decides something."""
        with self._session.store.read() as reader:
            return any(
                one.id == window.id and _span(one).concerns(self._length)
                for one in _offers(reader, self._machine)
            )


def _offers(reader: Reader, machine: str) -> list[QueueWindow]:
    """Return the windows that other members of the fleet offer and are about to land."""
    present = {one.id for one in all_machines(reader) if one.left_at_ms is None}
    present -= silent_machines(reader).keys()
    return [one for one in offers_of_others(reader, machine) if one.machine in present]


def _wanted(
    session: Session, reader: Reader, window: QueueWindow, own: Sequence[VerifiedPrefix]
) -> list[int]:
    """Return the prefixes of a window that are worth a run now, the best ones first."""
    claims = PrefixClaims(session, "", window.id)
    taken = claims.of_others(reader, len(window.workers))
    machines = landing_machines(reader) | {window.machine}
    slots = session.settings.merge_parallel * max(2, len(machines))
    span = _span(window)
    for one in own:
        if one.window == window.id:
            span = span.learn(one.length, passed=one.verdict.passed)
    return next_probes(span, slots, taken)


def _span(window: QueueWindow) -> SearchSpan:
    return span_of(len(window.workers), window.verdicts)


def _commit(window: QueueWindow, length: int) -> Oid:
    return Oid(window.workers[length - 1]["commit"])


def json_prefix(found: VerifiedPrefix) -> dict[str, Any]:
    """Return the verdict on a prefix of a window."""
    return found._asdict() | {"verdict": found.verdict._asdict()}
