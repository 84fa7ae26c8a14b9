"""How much may be sent: a token bucket, and how rarely one has to look. Pure; on the hot path."""

from __future__ import annotations

BURST_S = 60  # an agent may send so many seconds' worth at once
LOOKS = 20  # one look for a twentieth of what there is room for
UNCHECKED_MAX = 256


def refilled(tokens: float, elapsed_ms: int, *, rate: int) -> float:
    """Return the tokens after a while; a clock that was set back adds none."""
    return min(float(rate * BURST_S), tokens + max(0, elapsed_ms) * rate / 1000)


def grant(tokens: float, *, rate: int) -> int:
    """Return how many messages a sender may send before it asks again; 0: none now."""
    return min(int(tokens), max(1, rate // LOOKS))


def wait_ms(tokens: float, *, rate: int) -> int:
    """Return how long it takes until one message may be sent."""
    return max(1, int((1 - tokens) * 1000 / rate) + 1)


def unchecked(room: int) -> int:
    """Return for how many messages nobody has to look again where there is room for `room`."""
    return max(1, min(UNCHECKED_MAX, room // LOOKS))


def is_calm(nth_newest_ms: int | None, now_ms: int) -> bool:
    """Tell whether all agents together have sent less in the last second than one may."""
    return nth_newest_ms is None or now_ms - nth_newest_ms >= 1000


def is_slow(unread: int, *, max_unread: int) -> bool:
    """Tell whether an agent has left more than half of what it may unread."""
    return unread > max_unread // 2
