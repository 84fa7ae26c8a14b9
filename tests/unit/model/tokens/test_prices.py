"""Prices: their form, the price that counts, and costs by them."""

import pytest

from gitworker.model.tokens.prices import (
    Cost,
    Price,
    Tokens,
    cost_of,
    find_price,
    json_cost,
    most_usd,
    parse_prices,
    sum_of,
)

PRICES = parse_prices(["claude-sonnet-4=3/15/0.3", "claude-sonnet-4-5=6/22.5", "codex=1/10"])


def test_lines() -> None:
    """A line has two or three prices; without a third one the cache costs as much as input."""
    assert PRICES["claude-sonnet-4"] == Price(3, 15, 0.3)
    assert PRICES["codex"] == Price(1, 10, 1)
    assert parse_prices([]) == {}


@pytest.mark.parametrize("line", ["claude", "claude=3", "claude=3/-1", "=1/2", "a b=1/2", "a=1/x"])
def test_wrong_lines(line: str) -> None:
    """A line of another form is named."""
    with pytest.raises(ValueError, match=f"^{line}$"):
        parse_prices(["codex=1/2", line])


def test_the_price_that_counts() -> None:
    """The longest name of the model wins, then the agent; a name ends at a hyphen."""
    for agent, model, name in (
        ("claude", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude", "claude-sonnet-4", "claude-sonnet-4"),
        ("codex", "gpt-5", "codex"),
        ("codex", None, "codex"),
    ):
        assert find_price(PRICES, agent=agent, model=model) == PRICES[name]
    assert find_price(PRICES, agent="claude", model="claude-sonnet-45") is None


def test_costs() -> None:
    """A reported cost counts as it is; other tokens cost by their kind, or nothing known."""
    sonnet = Tokens("claude", "claude-sonnet-4", 2_000_000, 100_000, 1_000_000)
    assert cost_of(PRICES, None, [sonnet]) == Cost(4.8, 4.8)
    assert cost_of(PRICES, 1.0, [sonnet]) == Cost(5.8, 4.8)
    assert cost_of(PRICES, 1.0) == Cost(1.0)
    unknown = Tokens("own", None, 5, 5, 0)
    assert cost_of(PRICES, None, [unknown]) is None
    assert cost_of(PRICES, 0.5, [unknown]) == Cost(0.5)
    more_cached = Tokens("codex", None, 1_000_000, 0, 9_000_000)
    assert cost_of(PRICES, None, [more_cached]) == Cost(1.0, 1.0)


def test_texts_and_sums() -> None:
    """An estimate is marked, and an unknown cost is null."""
    assert (Cost(1234.5).text, Cost(0.5, 0.5).text) == ("$1,234.50", "~$0.50")
    assert sum_of([None, Cost(1.0), Cost(0.5, 0.5)]) == Cost(1.5, 0.5)
    assert sum_of([None]) is None
    assert json_cost(None) == {"cost_usd": None, "estimated_usd": None}
    assert json_cost(Cost(0.1234567, 0.1)) == {"cost_usd": 0.123457, "estimated_usd": 0.1}


def test_the_most_that_tokens_cost() -> None:
    """The dearest kind counts, rounded up to a cent, and at least one."""
    assert most_usd(Price(3, 15, 0.3), 1_000_000) == 15.0
    assert most_usd(Price(3, 15, 0.3), 1_001) == 0.02
    assert most_usd(Price(0, 0, 0), 5) == 0.01
