"""The tokens and the cost of the agents of a run since it began, and the budget of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.model.tokens.prices import parse_prices, sum_of
from gitworker.store.records.run_results import find_first_counted, tokens_since
from gitworker.store.scheduling.usage import spending_since

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitworker.model.tokens.prices import Cost
    from gitworker.session import Session
    from gitworker.store.scheduling.usage import Usage


class Spending:
    """The tokens of a run's workers; those of agents that work at its begin count from then on.

    Agents without a run, which verify work, are added by `add`. Without a budget, the tokens are
    read at the end alone.
    """

    __slots__ = ("_before", "_first", "_others", "_session", "_workers", "budget", "used")

    def __init__(self, session: Session, budget: int | None) -> None:
        self.budget = budget
        self.used = 0
        self._session = session
        self._others: list[tuple[str, Usage]] = []
        self._workers: set[str] = set()
        with session.store.read() as reader:
            self._first = find_first_counted(reader)
            self._before = tokens_since(reader, self._first)

    @property
    def is_over(self) -> bool:
        """Return whether the budget is used up."""
        return self.budget is not None and self.used >= self.budget

    @property
    def words(self) -> str:
        """Return the use of the budget in words."""
        return f"the run has used {self.used:,} of its {self.budget or 0:,} tokens"

    def look(self, workers: Iterable[str]) -> None:
        """Count the tokens again; `workers` are those that the run has now."""
        self._workers.update(workers)
        if self.budget is not None:
            self.count()

    def add(self, agent: str, usage: Usage) -> None:
        """Add the tokens of an agent without a run."""
        self._others.append((agent, usage))

    def count(self) -> int:
        """Count the tokens of all workers so far, and return them."""
        with self._session.store.read() as reader:
            found = tokens_since(reader, self._first)
        used = sum(found.get(one, 0) - self._before.get(one, 0) for one in self._workers)
        self.used = max(self.used, used + sum(usage.tokens for _, usage in self._others))
        return self.used

    def cost(self) -> Cost | None:
        """Return the cost of the runs that count; None if nothing of it is known."""
        prices = parse_prices(self._session.settings.agents_prices)
        with self._session.store.read() as reader:
            found = spending_since(reader, self._first)
        runs = (total.cost(prices) for name, total in found.items() if name in self._workers)
        others = (usage.cost(prices, agent) for agent, usage in self._others)
        return sum_of((*runs, *others))
