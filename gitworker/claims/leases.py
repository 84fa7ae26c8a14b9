"""Take, renew, release and check claims, inside the caller's transaction.

`claim take`, spawn and undo use these functions, and no other code writes claims. A holder that
takes an expired claim gets the next epoch, also if the claim was its own. The holder of an expired
claim can still renew it if no other holder took it.
"""

from typing import NamedTuple

from gitworker import clock
from gitworker.claims import rules_claim as rules
from gitworker.errors import Conflict
from gitworker.store.api import Reader, Writer
from gitworker.store.claims import (
    StoredClaim,
    all_stored_claims,
    evict_claim,
    extend_claim,
    find_granted_epoch,
    find_stored_claim,
    insert_claim,
    lost_claims,
    read_instant,
    record_grant,
    release_claim,
)
from gitworker.store.rules_leases import ClockInstant, LeaseLength
from gitworker.store.tasks import find_task, open_dependencies

LAST_MS = 253_402_300_799_000  # the year 9999, since a foreign program may write any number


class Claim(NamedTuple):
    """A claim at one moment; `left_ms` is 0 or less if it has expired."""

    name: str
    holder: str
    epoch: int
    claimed_at_ms: int
    lease_until_ms: int
    left_ms: int

    @property
    def is_valid(self) -> bool:
        """Return whether the lease still runs, so that no other holder may take the claim."""
        return self.left_ms > 0


def take_claim(writer: Writer, name: str, holder: str, *, length: LeaseLength) -> Claim:
    """Give a name to a holder unless another holder has it, or an overlapping path.

    A holder that has the claim keeps its epoch, except `hq`, which several callers share. Raises
    Conflict with the holder and the lease's end.
    """
    at = read_instant()
    own = None
    for stored in _rivals(writer, name):
        claim = _claim(stored, at)
        mine = claim.holder == holder and rules.is_one(holder)
        if claim.is_valid and not mine:
            raise taken_error(name, claim)
        if claim.name == name and claim.is_valid:
            own = claim
        elif claim.name != name and not mine:
            evict_claim(writer, claim.name)
    if own is None:
        insert_claim(writer, name, holder, length=length, at=at)
    else:
        extend_claim(writer, name, length=length, at=at)
        record_grant(writer, name, holder, epoch=own.epoch)
    return _taken(writer, name, at)


def renew_claim(
    writer: Writer,
    name: str,
    holder: str,
    *,
    epoch: int | None = None,
    length: LeaseLength | None = None,
) -> Claim:
    """Extend a holder's lease by `length`, by default the length that it was taken for.

    Raises Conflict if the holder has lost the claim, NotFound if it never had it.
    """
    held = require_held(writer, name, holder, epoch=epoch)
    at = read_instant()
    extend_claim(writer, name, length=length or held.same_length(at), at=at)
    return _taken(writer, name, at)


def release_held_claim(writer: Writer, name: str, holder: str, *, epoch: int | None = None) -> None:
    """Release a claim; raises like `renew_claim`, and then changes nothing."""
    require_held(writer, name, holder, epoch=epoch)
    release_claim(writer, name, holder)


def require_held(
    reader: Reader, name: str, holder: str, *, epoch: int | None = None
) -> StoredClaim:
    """Return a holder's claim, under `epoch` if that is given, expired or not.

    Raises Conflict with the present holder if the claim is lost, NotFound if it never existed.
    """
    found = find_stored_claim(reader, name)
    if found is not None and found.holder == holder and epoch in (None, found.epoch):
        return found
    held_by = None if found is None else found.holder
    if epoch is None:
        epoch = find_granted_epoch(reader, name, holder)
    if epoch is not None:
        raise rules.lost(name, holder=holder, epoch=epoch, now_held_by=held_by)
    raise rules.not_held(name, holder=holder, held_by=held_by)


def require_valid(reader: Reader, name: str, holder: str, *, epoch: int | None = None) -> Claim:
    """Return a holder's claim; raise like `require_held`, and Conflict if it has expired."""
    claim = _claim(require_held(reader, name, holder, epoch=epoch), read_instant())
    if not claim.is_valid:
        raise Conflict(
            f"the claim of {holder} on {name} expired {-claim.left_ms // 1000} s ago",
            f"git worker claim renew {rules.quoted(name)}",
            code="claim_expired",
        )
    return claim


def require_task_held(reader: Reader, task: str | None, worker: str) -> None:
    """Raise Conflict if a worker has lost the claim on its task, even if the claim is free again.

    Workers without a claim pass: it was released, or their database is older than grants.
    """
    if task is None:
        return
    claim = find_claim(reader, task)
    if claim is not None and claim.is_valid and claim.holder != worker:
        raise taken_error(task, claim)
    for name, now_held_by in lost_claims(reader, worker):
        if name == task:
            raise rules.lost(task, holder=worker, epoch=None, now_held_by=now_held_by)


def require_task_free(reader: Reader, task: str, worker: str) -> None:
    """Raise Conflict if a holder other than `worker` has a valid claim on a task."""
    claim = find_claim(reader, task)
    if claim is not None and claim.is_valid and claim.holder != worker:
        error = taken_error(task, claim)
        error.hint = "git worker claim list"
        raise error


def require_claimable(reader: Reader, task: str, asker: str) -> None:
    """Raise if a task cannot be claimed: it is unknown, not READY, or another worker's."""
    stored = find_task(reader, task)
    refusal = rules.task_refusal(
        task,
        None if stored is None else stored.status,
        asker=asker,
        assigned=None if stored is None else stored.assigned_agent_id,
        waits_for=open_dependencies(reader, task),
    )
    if refusal is not None:
        raise refusal


def find_rival(reader: Reader, name: str, holder: str) -> Claim | None:
    """Return the valid claim that blocks a holder from taking a name, or None."""
    at = read_instant()
    for stored in _rivals(reader, name):
        claim = _claim(stored, at)
        if claim.is_valid and not (claim.holder == holder and rules.is_one(holder)):
            return claim
    return None


def path_claims_of_others(reader: Reader, holder: str) -> list[Claim]:
    """Return the valid claims of others on patterns of paths."""
    at = read_instant()
    found = (_claim(stored, at) for stored in all_stored_claims(reader, of_paths=True))
    return [claim for claim in found if claim.is_valid and claim.holder != holder]


def find_claim(reader: Reader, name: str) -> Claim | None:
    """Return the claim on a name, valid or expired, or None."""
    stored = find_stored_claim(reader, name)
    return None if stored is None else _claim(stored, read_instant())


def all_claims(reader: Reader) -> list[Claim]:
    """Return every claim by name, expired ones too."""
    at = read_instant()
    return [_claim(stored, at) for stored in all_stored_claims(reader)]


def taken_error(name: str, claim: Claim) -> rules.ClaimTaken:
    """Return the error for a name that another claim blocks."""
    return rules.taken(
        name,
        claim.name,
        holder=claim.holder,
        left_ms=claim.left_ms,
        until=clock.iso_utc_seconds(claim.lease_until_ms),
    )


def _rivals(reader: Reader, name: str) -> list[StoredClaim]:
    """Return the claim on a name; for a pattern, also the claims on overlapping patterns."""
    if not rules.is_path(name):
        found = find_stored_claim(reader, name)
        return [] if found is None else [found]
    claims = all_stored_claims(reader, of_paths=True)
    return [one for one in claims if rules.conflict(name, one.name)]


def _taken(writer: Writer, name: str, at: ClockInstant) -> Claim:
    stored = find_stored_claim(writer, name)
    assert stored is not None
    return _claim(stored, at)


def _claim(stored: StoredClaim, at: ClockInstant) -> Claim:
    return Claim(
        name=stored.name,
        holder=stored.holder,
        epoch=stored.epoch,
        claimed_at_ms=min(max(stored.claimed_at_ms, 0), LAST_MS),
        lease_until_ms=min(max(stored.lease_until_ms, 0), LAST_MS),
        left_ms=stored.left_ms(at),
    )
