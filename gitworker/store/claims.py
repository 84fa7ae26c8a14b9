"""Claims as stored: seed 2's row, the clock readings of its lease, the epoch its holder was given.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

from gitworker import clock
from gitworker.store.rules_leases import Instant, Length, renewed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.store.api import Reader, Row, Writer


def read_instant() -> Instant:
    """Read the clocks once."""
    return Instant(
        clock.now_ms(), clock.monotonic_ms(), boot_id=clock.boot_id(), host=clock.host_name()
    )


def renew_claims(writer: Writer, holder: str, *, setting_ms: int | None = None) -> None:
    """Push every lease of a holder on, as its beat shows that it lives.

    Each by its own length where it was taken for one, else by the setting's where that is known.
    """
    rows = writer.rows("claims.of_holder", agent=holder)
    if not rows:
        return
    at = read_instant()
    for row in rows:
        length = renewed(row, at, setting_ms=setting_ms)
        extend_claim(writer, row["task_id"], length=length, at=at)


def insert_claim(writer: Writer, name: str, holder: str, *, length: Length, at: Instant) -> int:
    """Give a name to a holder, whoever had it, under the next epoch; return the epoch."""
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


def extend_claim(writer: Writer, name: str, *, length: Length, at: Instant) -> None:
    """Let a lease last for its length from now on; its epoch stays."""
    writer.run("claims.extend", task=name, lease_until_ms=at.now_ms + length.ms)
    stamp_claim(writer, name, length=length, at=at)


def stamp_claim(writer: Writer, name: str, *, length: Length, at: Instant) -> None:
    """Write down the clock readings that belong to a lease."""
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
    """Give a claim back, and forget that there was one; tell whether the holder had it."""
    released = writer.run("claims.release", task=name, agent=holder) > 0
    if released:
        writer.run("claims.delete_clock", task=name)
    writer.run("claims.forget_grant", agent=holder, task=name)
    return released


def lost_claims(reader: Reader, holder: str) -> list[Row]:
    """Return what a holder was given and has lost, with whoever claims it now."""
    return reader.rows("claims.lost", agent=holder)
