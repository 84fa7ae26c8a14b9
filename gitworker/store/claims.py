"""Claims as stored: the bus protocol's row, the lease's clock readings, the holder's epoch.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

from gitworker import clock
from gitworker.store.rules_leases import ClockInstant, LeaseLength, left_ms, renewed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.store.api import Reader, Row, Writer


class StoredClaim:
    """A claim: its name, its holder under an epoch, and its lease."""

    __slots__ = ("_row", "claimed_at_ms", "epoch", "holder", "lease_until_ms", "name")

    def __init__(self, row: Row) -> None:
        self._row = row
        self.name: str = row["task_id"]
        self.holder: str = row["claimed_by"]
        self.epoch: int = row["epoch"]
        self.claimed_at_ms: int = row["claimed_at_ms"]
        self.lease_until_ms: int = row["lease_until_ms"]

    def left_ms(self, at: ClockInstant) -> int:
        """Return the remaining milliseconds; 0 or less if the claim has expired."""
        return left_ms(self._row, at)

    def same_length(self, at: ClockInstant) -> LeaseLength:
        """Return the length of the lease if it is renewed without a new length."""
        return renewed(self._row, at, setting_ms=None)


def read_instant() -> ClockInstant:
    """Read the clocks once."""
    return ClockInstant(
        clock.now_ms(), clock.monotonic_ms(), boot_id=clock.boot_id(), host=clock.host_name()
    )


def renew_claims(writer: Writer, holder: str, *, setting_ms: int | None = None) -> None:
    """Extend every lease of a holder, whose heartbeat shows that it lives.

    A lease with a fixed length keeps it; another gets the length of the setting, if that is given.
    """
    rows = writer.rows("claims.of_holder", agent=holder)
    if not rows:
        return
    at = read_instant()
    for row in rows:
        length = renewed(row, at, setting_ms=setting_ms)
        extend_claim(writer, row["task_id"], length=length, at=at)


def insert_claim(
    writer: Writer, name: str, holder: str, *, length: LeaseLength, at: ClockInstant
) -> int:
    """Give a name to a holder under the next epoch, replacing any claim; return the epoch."""
    writer.run("claims.delete", task=name)
    writer.run(
        "claims.insert",
        task=name,
        agent=holder,
        now=at.now_ms,
        lease_until_ms=at.now_ms + length.ms,
    )
    stamp_claim(writer, name, length=length, at=at)
    row = writer.row("claims.epoch", task=name)
    assert row is not None
    epoch = int(row["epoch"])
    record_grant(writer, name, holder, epoch=epoch)
    return epoch


def record_grant(writer: Writer, name: str, holder: str, *, epoch: int) -> None:
    """Record the epoch that a holder was given for a name."""
    writer.run("claims.grant", agent=holder, task=name, epoch=epoch)


def find_granted_epoch(reader: Reader, name: str, holder: str) -> int | None:
    """Return the last epoch that a holder was given for a name, or None."""
    row = reader.row("claims.granted", agent=holder, task=name)
    return None if row is None else int(row["epoch"])


def evict_claim(writer: Writer, name: str) -> None:
    """Delete a claim and raise the epoch of its name, so that its holder has lost it."""
    writer.run("claims.delete", task=name)
    writer.run("claims.delete_clock", task=name)
    writer.run("claims.pass_epoch", task=name)


def find_stored_claim(reader: Reader, name: str) -> StoredClaim | None:
    """Return the claim on a name, valid or expired, or None."""
    row = reader.row("claims.of_name", task=name)
    return None if row is None else StoredClaim(row)


def all_stored_claims(reader: Reader, *, of_paths: bool = False) -> list[StoredClaim]:
    """Return every claim by name, or only those on patterns of paths."""
    rows = reader.rows("claims.of_paths" if of_paths else "claims.all")
    return [StoredClaim(row) for row in rows]


def extend_claim(writer: Writer, name: str, *, length: LeaseLength, at: ClockInstant) -> None:
    """Let a lease begin again now, under the same epoch."""
    writer.run("claims.extend", task=name, lease_until_ms=at.now_ms + length.ms)
    stamp_claim(writer, name, length=length, at=at)


def stamp_claim(writer: Writer, name: str, *, length: LeaseLength, at: ClockInstant) -> None:
    """Store the clock readings of a lease."""
    writer.run(
        "claims.stamp",
        task=name,
        lease_until_ms=at.now_ms + length.ms,
        mono_until_ms=at.mono_ms + length.ms,
        boot_id=at.boot_id,
        host=at.host,
        lease_ms=length.ms,
        is_fixed=int(length.is_fixed),
    )


def release_claim(writer: Writer, name: str, holder: str) -> bool:
    """Release a claim and delete its record; return whether the holder had it."""
    released = writer.run("claims.release", task=name, agent=holder) > 0
    if released:
        writer.run("claims.delete_clock", task=name)
    forget_grant(writer, name, holder)
    return released


def lost_claims(reader: Reader, holder: str) -> list[tuple[str, str | None]]:
    """Return the names of the claims that a holder has lost, each with its present holder."""
    rows = reader.rows("claims.lost", agent=holder)
    return [(row["task_id"], row["claimed_by"]) for row in rows]


def forget_grant(writer: Writer, name: str, holder: str) -> None:
    """Forget that a holder had a claim, so that its loss is no longer reported."""
    writer.run("claims.forget_grant", agent=holder, task=name)
