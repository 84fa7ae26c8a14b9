"""Back-off between pushes, and addresses relative to git's directory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.branches.rules_remote import LONGEST_DELAY_S, TRIES, is_relative, push_delay_s


@given(st.lists(st.floats(0, 1), min_size=TRIES, max_size=TRIES))
def test_waits_are_bounded(randoms: list[float]) -> None:
    """Every wait is short, their sum is below two minutes, and there are at most ten tries."""
    delays = [push_delay_s(attempt, one) for attempt, one in enumerate(randoms, start=1)]
    assert delays[-1] is None
    waits = [delay for delay in delays if delay is not None]
    assert len(waits) == TRIES - 1
    assert all(0 < wait <= LONGEST_DELAY_S for wait in waits)
    assert sum(waits) < 120


def test_waits_double() -> None:
    """Without randomness each wait is twice the one before, up to the longest."""
    waits = [push_delay_s(attempt, 0) for attempt in range(1, TRIES)]
    assert waits == [0.25, 0.5, 1, 2, 4, 8, 16, 16, 16]


def test_randomness_shortens_by_up_to_half() -> None:
    """Two queues that were rejected together do not retry together."""
    assert push_delay_s(3, 1) == 0.5


@pytest.mark.parametrize("address", ["../up.git", "up.git", "./a/b:c"])
def test_relative_addresses(address: str) -> None:
    """A path that does not begin at the root is relative."""
    assert is_relative(address)


@pytest.mark.parametrize("address", ["/up.git", "https://x/y", "me@host:up.git", "h:x"])
def test_absolute_addresses(address: str) -> None:
    """A path from the root, or a host, is absolute."""
    assert not is_relative(address)
