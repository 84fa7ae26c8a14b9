"""The claims of one holder: take, renew, release and check them, and wait for a free one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import Any, cast
from weakref import WeakKeyDictionary

from gitworker import clock
from gitworker.bus.caller.identity import caller_identity
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.bus.publish import Outgoing, publish
from gitworker.claims.leases import (
    Claim,
    all_claims,
    find_claim,
    find_rival,
    release_held_claim,
    renew_claim,
    require_claimable,
    require_valid,
    take_claim,
    taken_error,
)
from gitworker.claims.rules_claim import (
    ClaimTaken,
    is_one,
    is_task,
    parse_lease_ms,
    parse_name,
    quoted,
)
from gitworker.errors import Conflict, Invalid, NotFound
from gitworker.model.message import MessageType
from gitworker.paths import StatePaths, require_repository, state_paths
from gitworker.session import Session
from gitworker.store.api import Store, Writer
from gitworker.store.backend import open_store
from gitworker.store.rules_leases import PROTOCOL_LEASE_MS, LeaseLength

MAX_WAIT_S = 2.0  # foreign leases follow the wall clock, which may jump while we wait
SLACK_S = 0.002  # both clocks count whole milliseconds


class Claims:
    """The claims of one holder on one bus; belongs to one thread, as its store does.

    Names are task ids, `path:PATTERN` and `KIND:ANYTHING`; for others every method raises Invalid.
    Several callers share the identity `hq`. If it passes no epoch, the epoch of this object's last
    `take` counts, so that a claim which another caller has taken as `hq` since is not ours.
    """

    def __init__(
        self, store: Store, paths: StatePaths, *, holder: str, lease_ms: int = PROTOCOL_LEASE_MS
    ) -> None:
        self._store = store
        self._paths = paths
        self._length = LeaseLength(lease_ms)
        self.holder = holder
        self._epochs: dict[str, int] = {}

    def take(self, name: str, *, ttl_s: float | None = None, wait_s: float = 0) -> Claim:
        """Take a name for `ttl_s` seconds (by default the object's lease); wait `wait_s` at most.

        On disk on return. A worker that has the claim keeps its epoch. Raises Conflict if another
        holder has it, has an overlapping path or works on the task; NotFound for an unknown task,
        Refused for one that is not READY.
        """
        name = parse_name(name)
        length = (
            self._length if ttl_s is None else LeaseLength(parse_lease_ms(ttl_s), is_fixed=True)
        )
        deadline = clock.monotonic_ms() + wait_s * 1000
        try:
            claim = self._take(name, length)
        except ClaimTaken:
            if wait_s <= 0:
                raise
            claim = self._take_in_time(name, length, deadline)
        self._epochs[name] = claim.epoch
        return claim

    def renew(self, name: str, *, epoch: int | None = None, ttl_s: float | None = None) -> Claim:
        """Extend the lease, by default by the length that it was taken for; not synced to disk.

        An expired lease that no other holder took is extended too. Raises Conflict if the claim, or
        the claim under this epoch, is lost, and NotFound if it never existed.
        """
        name = parse_name(name)
        length = None if ttl_s is None else LeaseLength(parse_lease_ms(ttl_s), is_fixed=True)
        with self._store.write(durable=False) as writer:
            return renew_claim(
                writer, name, self.holder, epoch=self._epoch(name, epoch), length=length
            )

    def release(self, name: str, *, epoch: int | None = None) -> None:
        """Release a claim and wake the waiting callers; raises like `renew`."""
        name = parse_name(name)
        with self._store.write() as writer:
            release_held_claim(writer, name, self.holder, epoch=self._epoch(name, epoch))
        self._epochs.pop(name, None)
        self._ring()

    def held(self) -> list[Claim]:
        """Return this holder's claims by name, expired ones too."""
        return [claim for claim in self.everybodys() if claim.holder == self.holder]

    def everybodys(self) -> list[Claim]:
        """Return every claim by name, expired ones too."""
        with self._store.read() as reader:
            return all_claims(reader)

    def require(self, name: str, *, epoch: int | None = None) -> Claim:
        """Return the claim if it is valid now; raise like `renew`, and Conflict if it has expired.

        Time passes between this check and a step outside the database. Pass the epoch to that step,
        so that the resource can refuse an epoch lower than one it has seen.
        """
        name = parse_name(name)
        with self._store.read() as reader:
            return require_valid(reader, name, self.holder, epoch=self._epoch(name, epoch))

    def check(self, name: str, *, epoch: int | None = None) -> bool:
        """Return whether the claim is valid now."""
        try:
            self.require(name, epoch=epoch)
        except (Conflict, NotFound):
            return False
        return True

    def _epoch(self, name: str, epoch: int | None) -> int | None:
        return self._epochs.get(name) if epoch is None and not is_one(self.holder) else epoch

    def _take(self, name: str, length: LeaseLength) -> Claim:
        with self._store.read() as reader:  # losing is cheap: 2.5 times the throughput
            if is_task(name):
                require_claimable(reader, name, self.holder)
            rival = find_rival(reader, name, self.holder)
        if rival is not None:
            raise taken_error(name, rival)
        with self._store.write() as writer:
            if is_task(name):
                require_claimable(writer, name, self.holder)
            before = find_claim(writer, name)
            claim = take_claim(writer, name, self.holder, length=length)
            is_new = before is None or before.epoch != claim.epoch
            if is_new and is_task(name):
                self._announce(writer, claim)
        if is_new:
            self._ring()
        return claim

    def _announce(self, writer: Writer, claim: Claim) -> None:
        publish(
            writer,
            Outgoing(
                MessageType.TASK_CLAIM,
                sender=claim.holder,
                correlation_id=claim.name,
                payload={"epoch": claim.epoch, "lease_until_ms": claim.lease_until_ms},
            ),
            now=clock.now_ms(),
        )

    def _take_in_time(self, name: str, length: LeaseLength, deadline: float) -> Claim:
        """Try again after each write to the bus and when the lease ends."""
        with self._store.open_waker() as waker:
            while True:
                try:
                    return self._take(name, length)
                except ClaimTaken as error:
                    left_s = (deadline - clock.monotonic_ms()) / 1000
                    if not left_s > 0:  # also true for a NaN
                        raise
                    waker.wait(min(left_s, error.left_ms / 1000 + SLACK_S, MAX_WAIT_S))

    def _ring(self) -> None:
        with suppress(OSError):  # waiting callers check every 2 s anyway
            notify_followers(self._paths.bell)


class _OwnClaims(Claims):
    """Claims that own their connection."""

    def __init__(self, paths: StatePaths, *, holder: str, lease_ms: int) -> None:
        self._own = open_store(paths.database)
        super().__init__(self._own, paths, holder=holder, lease_ms=lease_ms)
        _OPEN[self] = get_ident()

    def reset_after_fork(self) -> None:
        """Use a new connection in the child of a fork, since SQLite's locks belong to the parent.

        A claim taken over the parent's connection was lost when another program found the bus
        unlocked.
        """
        self._store = cast(Store, _Unopened(self))

    def reopen(self) -> Store:
        """Replace the connection by a new one."""
        self._own.close()
        self._store = self._own = open_store(self._paths.database)
        return self._store

    def close(self) -> None:
        """Close the connection."""
        self._own.close()


class _Unopened:
    """A store that opens its connection on first use, so that a fork alone does not call SQLite."""

    def __init__(self, claims: _OwnClaims) -> None:
        self._claims = claims

    def close(self) -> None:
        pass  # nothing is open

    def __getattr__(self, name: str) -> Any:
        return getattr(self._claims.reopen(), name)


_OPEN: WeakKeyDictionary[_OwnClaims, int] = WeakKeyDictionary()  # with its thread


def _after_fork() -> None:
    for claims, thread in list(_OPEN.items()):
        if thread == get_ident():
            claims.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def claims_of(session: Session) -> Claims:
    """Return the claims of the caller's identity, with the lease from the settings."""
    lease_ms = session.settings.claims_lease_s * 1000
    return Claims(session.store, session.paths, holder=session.actor, lease_ms=lease_ms)


def require_epoch(session: Session, verb: str, name: str, epoch: int | None) -> None:
    """Raise Invalid without an epoch for `hq`: several shells share it and could hold the claim."""
    if epoch is None and not is_one(session.actor):
        raise Invalid(
            f"all shells outside the worktrees share {session.actor}, so --epoch is required",
            f"git worker claim {verb} {quoted(name)} --epoch <epoch>   # from `claim take`",
            code="usage",
        )


@contextmanager
def open_claims(*, holder: str | None = None, lease_s: float = 60) -> Iterator[Claims]:
    """Give the caller's claims in the current repository, and close them afterwards.

    `holder` is by default GITWORKER_ID, the worktree's worker, or `hq`. Raises Unavailable if there
    is no repository, or gitworker is not set up in it.
    """
    repository = require_repository()
    paths = state_paths(repository)
    identity = caller_identity(repository, holder, os.environ)
    claims = _OwnClaims(paths, holder=identity, lease_ms=parse_lease_ms(lease_s))
    try:
        yield claims
    finally:
        claims.close()


__all__ = ["Claim", "Claims", "claims_of", "open_claims", "require_epoch"]
