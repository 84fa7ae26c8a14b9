"""The rules of back-pressure: the token bucket, and how rarely a sender has to check."""

import pytest

from gitworker.bus.limits.rules_pressure import (
    BURST_S,
    UNCHECKED_MAX,
    grant,
    is_calm,
    is_slow,
    refilled,
    unchecked,
    wait_ms,
)


@pytest.mark.parametrize(
    ("tokens", "elapsed_ms", "left"),
    [(0.0, 0, 0.0), (0.0, 100, 1.0), (5.0, -1000, 5.0), (1.0, 10**9, 10.0 * BURST_S)],
)
def test_refill(tokens: float, elapsed_ms: int, left: float) -> None:
    """Tokens are refilled with time, up to the burst; a clock that was set back adds none."""
    assert refilled(tokens, elapsed_ms, rate=10) == left


@pytest.mark.parametrize(
    ("tokens", "wanted", "rate", "granted"),
    [
        (0.9, 1, 1000, 0),
        (1.0, 1, 1000, 1),
        (500.0, 1, 1000, 50),
        (9.0, 1, 1, 1),
        (99.0, 100, 1000, 0),
        (100.0, 100, 1000, 100),
        (59.0, 100, 1, 0),
        (60.0, 100, 1, 100),
    ],
)
def test_grants(tokens: float, wanted: int, rate: int, granted: int) -> None:
    """A sender gets all tokens it wants or none, and at most a twentieth of a second's extra."""
    assert grant(tokens, wanted, rate=rate) == granted


def test_waits() -> None:
    """The wait ends when enough tokens will be there, a burst at most."""
    assert wait_ms(0.0, 1, rate=10) == 101
    assert wait_ms(0.999, 1, rate=10_000) == 1
    assert wait_ms(-10.0, 10**9, rate=1) == (BURST_S + 10) * 1000 + 1
    assert refilled(0.25, wait_ms(0.25, 3, rate=7), rate=7) >= 3


@pytest.mark.parametrize(
    ("room", "wanted", "free"), [(1, 1, 1), (40, 1, 2), (40, 30, 30), (10**6, 1, UNCHECKED_MAX)]
)
def test_unchecked(room: int, wanted: int, free: int) -> None:
    """The further the limit, the more messages are sent unchecked."""
    assert unchecked(room, wanted) == free


def test_calm_and_slow() -> None:
    """Little traffic in the last second is calm; more than half of the limit unread is slow."""
    assert is_calm(None, 5000)
    assert is_calm(4000, 5000)
    assert not is_calm(4001, 5000)
    assert not is_slow(5, max_unread=10)
    assert is_slow(6, max_unread=10)
