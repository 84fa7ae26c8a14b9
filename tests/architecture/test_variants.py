"""The share of variants that `make test` runs."""

import pytest

from tests.variants import LEAST, shown_variants


@pytest.mark.parametrize("share", [2, 3, 5])
@pytest.mark.parametrize("count", [1, 4, 5, 8, 9, 20, 59, 194])
def test_each_variant_runs_in_turn(count: int, share: int) -> None:
    """One share of the variants runs at a time, at least four, and each within `share` turns."""
    turns = [shown_variants(count, share, turn) for turn in range(1000, 1000 + share)]
    wanted = 1 + min(count - 1, max(LEAST - 1, -(-(count - 1) // share)))
    assert [len(turn) for turn in turns] == [wanted] * share
    assert all(0 in turn for turn in turns)
    assert set().union(*turns) == set(range(count))
