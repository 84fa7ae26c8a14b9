"""How much may be sent: a token bucket, and how rarely one has to look. Pure; on the hot path."""

from __future__ import annotations

BURST_S = 60  # an agent may send so many seconds' worth at once
LOOKS = 20  # one look for a twentieth of what there is room for
UNCHECKED_MAX = 256


def refilled(tokens: float, elapsed_ms: int, *, rate: int) -> float:
    """Return the tokens after a while; a clock that was set back adds none."""
    return min(float(rate * BURST_S), tokens + max(0, elapsed_ms) * rate / 1000)


def grant(tokens: float, wanted: int, *, rate: int) -> int:
    """Return how many messages a sender may send before it asks again: all it wants, or 0.

    A batch of more than a burst goes when the burst is there, and is owed afterwards.
    """
    if tokens < min(wanted, rate * BURST_S):
        return 0
    return max(wanted, min(int(tokens), rate // LOOKS))


def wait_ms(tokens: float, wanted: int, *, rate: int) -> int:
    """Return how long it takes until as many messages may be sent as are wanted."""
    missing = min(wanted, rate * BURST_S) - tokens
    return max(1, int(missing * 1000 / rate) + 1)


def unchecked(room: int, wanted: int) -> int:
    """Return for how many messages nobody has to look again where there is room for `room`."""
    return max(wanted, min(UNCHECKED_MAX, room // LOOKS))


def is_calm(nth_newest_ms: int | None, now_ms: int) -> bool:
    """Tell whether all agents together have sent less in the last second than one may."""
    return nth_newest_ms is None or now_ms - nth_newest_ms >= 1000


def is_slow(unread: int, *, max_unread: int) -> bool:
    """Tell whether an agent has left more than half of what it may unread."""
    return unread > max_unread // 2
