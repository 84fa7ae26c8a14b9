"""The remaining time of a lease. Pure: a stored claim and one reading of the clocks in, ms out.

Within one boot of one host CLOCK_MONOTONIC decides, so that no jump of the wall clock ends or
extends a claim. Otherwise, and for a foreign program's claim, the wall clock decides (see
docs/design.md, "Leases"). On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PROTOCOL_LEASE_MS = 60_000  # the lease of a foreign program


class ClockInstant:
    """One reading of the clocks: wall and monotonic milliseconds, the boot's id, the host."""

    __slots__ = ("boot_id", "host", "mono_ms", "now_ms")

    def __init__(self, now_ms: int, mono_ms: int, *, boot_id: str, host: str) -> None:
        self.now_ms = now_ms
        self.mono_ms = mono_ms
        self.boot_id = boot_id
        self.host = host


class LeaseLength:
    """The length of a lease; if it is fixed, no setting changes it."""

    __slots__ = ("is_fixed", "ms")

    def __init__(self, ms: int, *, is_fixed: bool = False) -> None:
        self.ms = ms
        self.is_fixed = is_fixed


def left_ms(claim: Mapping[str, Any], at: ClockInstant) -> int:
    """Return the remaining milliseconds of a claim; 0 or less if it has expired."""
    same_clock = (
        claim["mono_until_ms"] is not None
        and bool(at.boot_id)
        and claim["boot_id"] == at.boot_id
        and claim["host"] == at.host
    )
    if same_clock:
        return int(claim["mono_until_ms"]) - at.mono_ms
    return int(claim["lease_until_ms"]) - at.now_ms


def renewed(claim: Mapping[str, Any], at: ClockInstant, *, setting_ms: int | None) -> LeaseLength:
    """Return the length of a renewed lease: its fixed length, else the setting's.

    If the setting is None (not known here), the lease is as long as last time. A foreign program's
    lease gets the setting's or the protocol's length, but is never shortened.
    """
    if claim["lease_ms"] is None:
        left = int(claim["lease_until_ms"]) - at.now_ms
        return LeaseLength(max(setting_ms or PROTOCOL_LEASE_MS, left))
    if claim["is_fixed"] or setting_ms is None:
        return LeaseLength(int(claim["lease_ms"]), is_fixed=bool(claim["is_fixed"]))
    return LeaseLength(setting_ms)
