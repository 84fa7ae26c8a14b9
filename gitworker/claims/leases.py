"""Take, renew, release and check claims, inside the caller's transaction.

`claim take`, spawn and undo use these functions, and no other code writes claims. A holder that
takes an expired claim gets the next epoch, also if the claim was its own. The holder of an expired
claim can still renew it if no other holder took it.
"""

from typing import NamedTuple

from gitworker import clock
from gitworker.claims import rules
from gitworker.errors import Conflict
from gitworker.store.api import Reader, Row, Writer
from gitworker.store.claims import extend_claim, insert_claim, read_instant, release_claim
from gitworker.store.rules_leases import ClockInstant, LeaseLength, left_ms, renewed
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
    for row in _rivals(writer, name):
        claim = _claim(row, at)
        mine = claim.holder == holder and rules.is_one(holder)
        if claim.is_valid and not mine:
            raise taken_error(name, claim)
        if claim.name == name and claim.is_valid:
            own = claim
        elif claim.name != name and not mine:
            _evict(writer, claim.name)
    if own is None:
        insert_claim(writer, name, holder, length=length, at=at)
    else:
        extend_claim(writer, name, length=length, at=at)
        writer.run("claims.grant", agent=holder, task=name, epoch=own.epoch)
    return _stored(writer, name, at)


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
    row = require_held(writer, name, holder, epoch=epoch)
    at = read_instant()
    length = length or renewed(row, at, setting_ms=None)
    extend_claim(writer, name, length=length, at=at)
    return _stored(writer, name, at)


def release_held_claim(writer: Writer, name: str, holder: str, *, epoch: int | None = None) -> None:
    """Release a claim; raises like `renew_claim`, and then changes nothing."""
    require_held(writer, name, holder, epoch=epoch)
    release_claim(writer, name, holder)


def require_held(reader: Reader, name: str, holder: str, *, epoch: int | None = None) -> Row:
    """Return a holder's claim, under `epoch` if that is given, expired or not.

    Raises Conflict with the present holder if the claim is lost, NotFound if it never existed.
    """
    row = reader.row("claims.of_name", task=name)
    if row is not None and row["claimed_by"] == holder and epoch in (None, row["epoch"]):
        return row
    held_by = None if row is None else str(row["claimed_by"])
    granted = reader.row("claims.granted", agent=holder, task=name)
    if epoch is None and granted is not None:
        epoch = int(granted["epoch"])
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
    for row in reader.rows("claims.lost", agent=worker):
        if row["task_id"] == task:
            raise rules.lost(task, holder=worker, epoch=None, now_held_by=row["claimed_by"])


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
    for row in _rivals(reader, name):
        claim = _claim(row, at)
        if claim.is_valid and not (claim.holder == holder and rules.is_one(holder)):
            return claim
    return None


def find_claim(reader: Reader, name: str) -> Claim | None:
    """Return the claim on a name, valid or expired, or None."""
    row = reader.row("claims.of_name", task=name)
    return None if row is None else _claim(row, read_instant())


def all_claims(reader: Reader) -> list[Claim]:
    """Return every claim by name, expired ones too."""
    at = read_instant()
    return [_claim(row, at) for row in reader.rows("claims.all")]


def taken_error(name: str, claim: Claim) -> rules.ClaimTaken:
    """Return the error for a name that another claim blocks."""
    return rules.taken(
        name,
        claim.name,
        holder=claim.holder,
        left_ms=claim.left_ms,
        until=clock.iso_utc_seconds(claim.lease_until_ms),
    )


def _rivals(reader: Reader, name: str) -> list[Row]:
    """Return the claim on a name; for a pattern, also the claims on overlapping patterns."""
    if not rules.is_path(name):
        row = reader.row("claims.of_name", task=name)
        return [] if row is None else [row]
    rows = reader.rows("claims.of_paths")
    return [row for row in rows if rules.conflict(name, row["task_id"])]


def _evict(writer: Writer, name: str) -> None:
    """Delete an expired claim that overlaps a new one; its epoch shows the holder the loss."""
    writer.run("claims.delete", task=name)
    writer.run("claims.delete_clock", task=name)
    writer.run("claims.pass_epoch", task=name)


def _stored(writer: Writer, name: str, at: ClockInstant) -> Claim:
    row = writer.row("claims.of_name", task=name)
    assert row is not None
    return _claim(row, at)


def _claim(row: Row, at: ClockInstant) -> Claim:
    return Claim(
        name=row["task_id"],
        holder=row["claimed_by"],
        epoch=row["epoch"],
        claimed_at_ms=min(max(row["claimed_at_ms"], 0), LAST_MS),
        lease_until_ms=min(max(row["lease_until_ms"], 0), LAST_MS),
        left_ms=left_ms(row, at),
    )
