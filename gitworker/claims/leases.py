"""Taking, renewing, giving back and checking claims, inside a transaction of the caller's.

The one door for every claim of ours: what `claim take` does, spawn and undo do by the same
functions. Whoever takes an expired claim over gets the next epoch, and so does a holder that takes
its own again; a claim that has expired and that nobody took is still its holder's to renew.
"""

from typing import NamedTuple

from gitworker import clock
from gitworker.claims import rules
from gitworker.errors import Conflict
from gitworker.store.api import Reader, Row, Writer
from gitworker.store.claims import extend_claim, insert_claim, read_instant, release_claim
from gitworker.store.rules_leases import Instant, Length, left_ms, renewed
from gitworker.store.tasks import find_task, open_dependencies

LAST_MS = 253_402_300_799_000  # the year 9999: a foreign program may have written anything


class Claim(NamedTuple):
    """A claim as it stood at one moment: `left_ms` is 0 or less where it has expired."""

    name: str
    holder: str
    epoch: int
    claimed_at_ms: int
    lease_until_ms: int
    left_ms: int

    @property
    def is_valid(self) -> bool:
        """Tell whether nobody else may take it."""
        return self.left_ms > 0


def take_claim(writer: Writer, name: str, holder: str, *, length: Length) -> Claim:
    """Give a name to a holder unless somebody else holds it, or a path in common with it.

    A holder that has it already goes on under its epoch (but not `hq`, which is many). Raises
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
    length: Length | None = None,
) -> Claim:
    """Let a holder's lease go on, for as long as it was taken for unless `length` says.

    Raises Conflict for a holder that has lost it, NotFound for one that never had it.
    """
    row = require_held(writer, name, holder, epoch=epoch)
    at = read_instant()
    length = length or renewed(row, at, setting_ms=None)
    extend_claim(writer, name, length=length, at=at)
    return _stored(writer, name, at)


def give_back(writer: Writer, name: str, holder: str, *, epoch: int | None = None) -> None:
    """Give a claim back; raises like `renew_claim`, and then there is nothing left to give back."""
    require_held(writer, name, holder, epoch=epoch)
    release_claim(writer, name, holder)


def require_held(reader: Reader, name: str, holder: str, *, epoch: int | None = None) -> Row:
    """Return a holder's claim, under its epoch where one is named, expired or not.

    Raises Conflict where it has lost it, naming who has it now, and NotFound where it never had it.
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
    """Return a holder's claim; raise like `require_held`, and Conflict where it has expired."""
    claim = _claim(require_held(reader, name, holder, epoch=epoch), read_instant())
    if not claim.is_valid:
        raise Conflict(
            f"the claim of {holder} on {name} expired {-claim.left_ms // 1000} s ago",
            f"git worker claim renew {rules.quoted(name)}",
            code="claim_expired",
        )
    return claim


def require_task_held(reader: Reader, task: str | None, worker: str) -> None:
    """Raise Conflict where a seat has lost its task: to somebody now, or to somebody since.

    Seats without a claim (it was given back, or their database is older than grants) pass.
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
    """Raise Conflict where somebody else than `worker` holds a task by a valid claim."""
    claim = find_claim(reader, task)
    if claim is not None and claim.is_valid and claim.holder != worker:
        error = taken_error(task, claim)
        error.hint = "git worker claim list"
        raise error


def require_claimable(reader: Reader, task: str, asker: str) -> None:
    """Raise where a task cannot be claimed: unknown, not READY, another worker's."""
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
    """Return the valid claim that keeps a holder from taking a name, or None."""
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


def taken_error(name: str, claim: Claim) -> rules.Taken:
    """Return the error for who wants what another claim stands in the way of."""
    return rules.taken(
        name,
        claim.name,
        holder=claim.holder,
        left_ms=claim.left_ms,
        until=clock.iso_utc_seconds(claim.lease_until_ms),
    )


def _rivals(reader: Reader, name: str) -> list[Row]:
    """Return the claim on the very name, and for a pattern those that have a path in common."""
    if not rules.is_path(name):
        row = reader.row("claims.of_name", task=name)
        return [] if row is None else [row]
    rows = reader.rows("claims.of_paths")
    return [row for row in rows if rules.conflict(name, row["task_id"])]


def _evict(writer: Writer, name: str) -> None:
    """Take an expired claim away that overlaps a new one; its holder is told by the epoch."""
    writer.run("claims.delete", task=name)
    writer.run("claims.delete_clock", task=name)
    writer.run("claims.pass_epoch", task=name)


def _stored(writer: Writer, name: str, at: Instant) -> Claim:
    row = writer.row("claims.of_name", task=name)
    assert row is not None
    return _claim(row, at)


def _claim(row: Row, at: Instant) -> Claim:
    return Claim(
        name=row["task_id"],
        holder=row["claimed_by"],
        epoch=row["epoch"],
        claimed_at_ms=min(max(row["claimed_at_ms"], 0), LAST_MS),
        lease_until_ms=min(max(row["lease_until_ms"], 0), LAST_MS),
        left_ms=left_ms(row, at),
    )
