"""Claims as stored: the bus protocol's row, the lease's clock readings, the holder's epoch.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

from gitworker import clock
from gitworker.store.rules_leases import ClockInstant, LeaseLength, renewed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.store.api import Reader, Writer


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
    writer.run("claims.grant", agent=holder, task=name, epoch=epoch)
    return epoch


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
