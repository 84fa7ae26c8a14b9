"""The board: every worker by what it needs, from the newest status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.observe.queue.board_columns import FILTERS, Card, choices, columns, is_chosen
from gitworker.observe.queue.worker_facts import CardFacts

if TYPE_CHECKING:
    from gitworker.web.request import Ask


def read(ask: Ask) -> dict[str, Any]:
    """Return the columns, the filters and their values; raise if the status cannot be read."""
    frame = ask.site.hub.require_current()
    facts = ask.site.facts(ask.service)
    wanted = {name: ask.query.get(name, "") for name in FILTERS}
    names = {line.worker for line in frame.workers}
    cards = [
        Card(line, known, tuple(one.other for one in line.conflicts if one.other in names))
        for line in frame.workers
        if is_chosen(known := facts.get(line.worker, CardFacts()), wanted)
    ]
    return {
        "columns": columns(cards, now_ms=frame.now_ms, every=ask.query.get("all") == "1"),
        "choices": choices(facts.values()), "wanted": wanted,
        "every": ask.query.get("all") == "1",
    }  # fmt: skip
