"""The board as rows: every worker by what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.observe.queue.board_columns import DONE, NEEDS, Card, columns
from gitworker.observe.queue.worker_facts import CardFacts
from gitworker.observe.text_width import padded
from gitworker.states.worker_machine import state_label
from gitworker.tui.rows.row import BAD, BOLD, DIM, NOTED, Part, age, clean, row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gitworker.observe.queue.board_filter import BoardFilter
    from gitworker.observe.workers.status import StatusScreen
    from gitworker.tui.rows.row import Row

NAME_AT_MOST = 24
NO_MATCH = "No worker matches; / changes the filter, Esc removes it."


def board_rows(
    frame: StatusScreen,
    facts: Mapping[str, CardFacts],
    *,
    now_ms: int,
    every: bool,
    chosen: BoardFilter,
) -> list[Row]:
    """Return the rows; the key of a worker's rows is its name. `every`: with old landings."""
    names = {line.worker for line in frame.workers}
    cards = [
        Card(
            line, known, tuple(one.other for one in line.conflicts if one.other in names),
        )
        for line in frame.workers
        if chosen.accepts(line, known := facts.get(line.worker, CardFacts()))
    ]  # fmt: skip
    found = columns(cards, now_ms=now_ms, every=every)
    width = min(NAME_AT_MOST, max((len(one) for one in names), default=0))
    rows: list[Row] = []
    if names and not cards:
        return [row(Part(NO_MATCH, DIM))]
    for column in found:
        if not column.cards and column.key not in (NEEDS,):
            continue
        style = NOTED if column.key == NEEDS and column.cards else BOLD
        rows.append(row(Part(column.title, style), Part(f" {len(column.cards)}", DIM)))
        rows += [one for card in column.cards for one in _card(card, now_ms, width, column.key)]
        if not column.cards:
            rows.append(row(Part("  no worker", DIM)))
        rows.append(row())
    return rows


def _card(card: Card, now_ms: int, width: int, column: str) -> Iterator[Row]:
    line, facts = card.line, card.facts
    known = [state_label(line.state), age(now_ms, line.since_ms)]
    if line.machine is not None:
        known.append(f"on {line.machine}")
    if line.liveness.value != "-":
        known.append(line.liveness.value.lower())
    if line.tip and line.tip.ahead is not None:
        known.append(f"+{line.tip.ahead}/-{line.tip.behind}")
    if line.progress is not None:
        known.append(f"{line.progress:.0%}")
    if line.verified:
        known.append(f"verify {line.verified.verdict}")
    if facts.tokens:
        known.append(f"{facts.tokens:,} tokens")
    if facts.cost:
        known.append(facts.cost.text)
    if facts.agent:
        known.append(facts.agent)
    name = Part(f"  {padded(clean(line.worker), width)}", BOLD if column != DONE else DIM)
    yield row(name, f"  {line.task or ''}  ", Part(", ".join(known), DIM), key=line.worker)
    if line.news and column != DONE:
        yield row(" " * 4, Part(line.news, BAD if line.trouble else ""))
    for other in card.others:
        yield row(" " * 4, Part(f"conflicts with {other}", BAD))
