"""The tokens that the agents of a run have used since it began, and the budget of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.store.records.run_results import find_first_counted, tokens_since

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitworker.session import Session


class Spending:
    """The tokens of a run's workers; those of agents that work at its begin count from then on.

    `others` are tokens of agents without a run, which verify work. Without a budget nothing is
    read.
    """

    __slots__ = ("_before", "_first", "_session", "_workers", "budget", "others", "used")

    def __init__(self, session: Session, budget: int | None) -> None:
        self.budget = budget
        self.used = self.others = self._first = 0
        self._session = session
        self._before: dict[str, int] = {}
        self._workers: set[str] = set()
        if budget is not None:
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
        if self.budget is None:
            return
        self._workers.update(workers)
        with self._session.store.read() as reader:
            found = tokens_since(reader, self._first)
        used = sum(found.get(one, 0) - self._before.get(one, 0) for one in self._workers)
        self.used = max(self.used, used + self.others)
