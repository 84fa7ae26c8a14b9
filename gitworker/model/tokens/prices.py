"""Money as a view of tokens: the prices that a user has set, and costs by them. Pure.

A cost that an agent has reported itself wins over the prices. No decision about tokens reads this.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

PER = 1_000_000
AMOUNT = r"(\d{1,6}(?:\.\d{1,6})?)"
LINE = re.compile(rf"(\S+)={AMOUNT}/{AMOUNT}(?:/{AMOUNT})?")


class Price(NamedTuple):
    """Dollars for a million tokens: of input, of output, of input that came from a cache."""

    input_usd: float
    output_usd: float
    cached_usd: float


class Tokens(NamedTuple):
    """Tokens of one agent and model without a reported cost; `cached` is a part of `input`."""

    agent: str
    model: str | None
    input: int
    output: int
    cached: int


class Cost(NamedTuple):
    """A cost in dollars; `estimated_usd` is the part of it that follows from the prices."""

    usd: float
    estimated_usd: float = 0.0

    @property
    def text(self) -> str:
        """Return the cost with two digits after the point; `~` marks an estimate."""
        return f"{'~' if self.estimated_usd else ''}${self.usd:,.2f}"


def parse_prices(lines: Sequence[str]) -> dict[str, Price]:
    """Return the prices by the name of a model or an agent.

    A line is NAME=INPUT/OUTPUT or NAME=INPUT/OUTPUT/CACHED. Raises ValueError with the first line
    of another form.
    """
    found = {}
    for line in lines:
        match = LINE.fullmatch(line)
        if match is None:
            raise ValueError(line)
        name, given, made, cached = match.groups()
        found[name] = Price(float(given), float(made), float(cached or given))
    return found


def find_price(prices: Mapping[str, Price], *, agent: str, model: str | None) -> Price | None:
    """Return the price of a model, else of its agent.

    The longest name counts that is the model's, or begins it before a `-`: models have dates.
    """
    names = [one for one in prices if model and f"{model}-".startswith(f"{one}-")]
    return prices[max(names, key=len)] if names else prices.get(agent)


def cost_of(
    prices: Mapping[str, Price], reported_usd: float | None, unpriced: Iterable[Tokens] = ()
) -> Cost | None:
    """Return a reported cost together with that of tokens without one; None if neither is known."""
    estimates = [
        _cost(price, one)
        for one in unpriced
        if (price := find_price(prices, agent=one.agent, model=one.model)) is not None
    ]
    if reported_usd is None and not estimates:
        return None
    estimated = sum(estimates)
    return Cost((reported_usd or 0.0) + estimated, estimated)


def sum_of(costs: Iterable[Cost | None]) -> Cost | None:
    """Return the sum of the costs that are known; None without any."""
    known = [one for one in costs if one is not None]
    if not known:
        return None
    return Cost(sum(one.usd for one in known), sum(one.estimated_usd for one in known))


def most_usd(price: Price, tokens: int) -> float:
    """Return the dollars that a number of tokens costs at most, rounded up to a cent."""
    return max(1, math.ceil(tokens * max(price) / PER * 100)) / 100


def json_cost(cost: Cost | None) -> dict[str, float | None]:
    """Return a cost as JSON data; an unknown one is null."""
    if cost is None:
        return {"cost_usd": None, "estimated_usd": None}
    return {"cost_usd": round(cost.usd, 6), "estimated_usd": round(cost.estimated_usd, 6)}


def _cost(price: Price, tokens: Tokens) -> float:
    cached = min(tokens.cached, tokens.input)
    return (
        (tokens.input - cached) * price.input_usd
        + cached * price.cached_usd
        + tokens.output * price.output_usd
    ) / PER
