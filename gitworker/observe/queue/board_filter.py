"""The filter of the board that a person writes as one line: `project:web login`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.observe.queue.board_columns import FILTERS, is_chosen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.observe.queue.worker_facts import CardFacts
    from gitworker.observe.workers.status import WorkerLine


class BoardFilter(NamedTuple):
    """The wanted values by their names, and the words that a worker's texts must contain."""

    wanted: Mapping[str, str]
    words: tuple[str, ...]

    def accepts(self, line: WorkerLine, facts: CardFacts) -> bool:
        """Return whether a worker is shown; case does not matter for words."""
        text = " ".join((line.worker, line.task or "", line.news or "")).casefold()
        return is_chosen(facts, self.wanted) and all(word in text for word in self.words)


def parse_filter(text: str) -> BoardFilter:
    """Return the filter that a line describes: `name:value` for a known name, else a word."""
    wanted: dict[str, str] = {}
    words = []
    for part in text.split():
        name, separator, value = part.partition(":")
        if separator and name in FILTERS:
            wanted[name] = value
        else:
            words.append(part.casefold())
    return BoardFilter(wanted, tuple(words))
