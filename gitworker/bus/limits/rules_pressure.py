"""Rules of back-pressure: a token bucket, and the messages between two checks. Pure; hot path."""

from __future__ import annotations

BURST_S = 60  # an agent may send the messages of this many seconds at once
CHECKS = 20  # one check covers a twentieth of the free messages
UNCHECKED_MAX = 256


def refilled(tokens: float, elapsed_ms: int, *, rate: int) -> float:
    """Return the tokens after some time; a clock that was set back adds no tokens."""
    return min(float(rate * BURST_S), tokens + max(0, elapsed_ms) * rate / 1000)


def grant(tokens: float, wanted: int, *, rate: int) -> int:
    """Return how many messages a sender may send before the next check: at least `wanted`, or 0.

    A batch larger than a burst passes if the bucket is full; its tokens then become negative.
    """
    if tokens < min(wanted, rate * BURST_S):
        return 0
    return max(wanted, min(int(tokens), rate // CHECKS))


def wait_ms(tokens: float, wanted: int, *, rate: int) -> int:
    """Return the time until `wanted` messages may be sent."""
    missing = min(wanted, rate * BURST_S) - tokens
    return max(1, int(missing * 1000 / rate) + 1)


def unchecked(free: int, wanted: int) -> int:
    """Return how many messages may pass without a check if `free` more are allowed."""
    return max(wanted, min(UNCHECKED_MAX, free // CHECKS))


def is_calm(nth_newest_ms: int | None, now_ms: int) -> bool:
    """Return whether all agents together sent less in the last second than one agent may."""
    return nth_newest_ms is None or now_ms - nth_newest_ms >= 1000


def is_slow(unread: int, *, max_unread: int) -> bool:
    """Return whether an agent has more than half of the allowed unread messages."""
    return unread > max_unread // 2
