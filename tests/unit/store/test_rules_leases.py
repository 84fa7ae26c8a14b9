"""The remaining time of a lease: by CLOCK_MONOTONIC within one boot, else by the wall clock."""

from typing import Any

import pytest

from gitworker.store.rules_leases import ClockInstant, left_ms, renewed

HOUR_MS = 3_600_000
CLAIM: dict[str, Any] = {
    "lease_until_ms": 1_060_000, "mono_until_ms": 65_000, "boot_id": "b", "host": "h",
    "lease_ms": 60_000, "is_fixed": 0,
}  # fmt: skip
FOREIGN = {**CLAIM, **dict.fromkeys(("mono_until_ms", "boot_id", "host", "lease_ms", "is_fixed"))}


def at(now_ms: int, mono_ms: int, boot_id: str = "b", host: str = "h") -> ClockInstant:
    """Return one reading of the clocks."""
    return ClockInstant(now_ms, mono_ms, boot_id=boot_id, host=host)


@pytest.mark.parametrize("jump_ms", [-HOUR_MS, 0, 120_000, 400 * HOUR_MS])
def test_jumps_of_the_wall_clock_do_not_count(jump_ms: int) -> None:
    """Within one boot of one host a jump of the wall clock neither ends nor extends a claim."""
    assert left_ms(CLAIM, at(1_000_000 + jump_ms, 5_000)) == 60_000
    assert left_ms(CLAIM, at(1_060_000 + jump_ms, 65_000)) == 0


@pytest.mark.parametrize(
    ("claim", "instant"),
    [
        (FOREIGN, at(1_050_000, 5)),
        (CLAIM, at(1_050_000, 5, boot_id="other")),
        (CLAIM, at(1_050_000, 5, host="other")),
        ({**CLAIM, "boot_id": ""}, at(1_050_000, 5, boot_id="")),
    ],
)
def test_otherwise_the_wall_clock_decides(claim: dict[str, Any], instant: ClockInstant) -> None:
    """After a boot, on another host, and for a foreign program's claim, the wall clock counts."""
    assert left_ms(claim, instant) == 10_000


@pytest.mark.parametrize(
    ("claim", "setting_ms", "length"),
    [
        (CLAIM, 90_000, (90_000, False)),
        (CLAIM, None, (60_000, False)),
        ({**CLAIM, "is_fixed": 1}, 90_000, (60_000, True)),
        ({**CLAIM, "is_fixed": 1}, None, (60_000, True)),
        (FOREIGN, None, (60_000, False)),
        (FOREIGN, 90_000, (90_000, False)),
        ({**FOREIGN, "lease_until_ms": 1_600_000}, 90_000, (600_000, False)),
    ],
)
def test_renewals(claim: dict[str, Any], setting_ms: int | None, length: tuple[int, bool]) -> None:
    """A renewal has the length asked for, else the setting's; a foreign claim gets no shorter."""
    found = renewed(claim, at(1_000_000, 5_000), setting_ms=setting_ms)
    assert (found.ms, found.is_fixed) == length
