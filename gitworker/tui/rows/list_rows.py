"""The inbox, a conversation and plain texts as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.observe.inbox.rules_comments import comment_lines
from gitworker.tui.rows.row import BAD, BOLD, DIM, GOOD, NOTED, Part, age, row
from gitworker.tui.rows.row import paragraphs as paragraphs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.observe.inbox.inbox import Inbox
    from gitworker.observe.logs.conversation import Said
    from gitworker.review.compare import Comparison
    from gitworker.tui.rows.row import Row

INDENT = " " * 4


def inbox_rows(inbox: Inbox, *, width: int) -> list[Row]:
    """Return the items; the key of each first row is its item."""
    rows: list[Row] = []
    for item in inbox.items:
        rows.append(
            row(
                Part(item.kind, NOTED), " ", Part(item.source, BOLD),
                Part(f" {age(inbox.now_ms, item.since_ms)}", DIM), key=item,
            )
        )  # fmt: skip
        if item.text:
            rows += paragraphs_of(item.text, width=width, indent=INDENT)
        rows += [row(INDENT, one) for one in comment_lines(item.payload)]
        if item.command:
            rows.append(row(INDENT, Part(item.command, DIM)))
        rows.append(row())
    if not rows:
        rows.append(row(Part("Nothing needs you.", DIM)))
    if inbox.has_more:
        rows.append(row(Part("There are more: git worker inbox", DIM)))
    return rows


def conversation_rows(said: Sequence[Said], *, width: int) -> list[Row]:
    """Return the messages, oldest first."""
    rows: list[Row] = []
    for one in said:
        to = f" → {one.to}" if one.to else ""
        rows.append(
            row(
                Part(one.sender, BOLD), f"{to} ", Part(one.type, NOTED),
                Part(f"  {clock.iso_utc_seconds(one.ts_ms)}", DIM), key=one,
            )
        )  # fmt: skip
        rows += paragraphs_of(one.text, width=width, indent=INDENT)
        rows.append(row())
    return rows or [row(Part("No message yet.", DIM))]


def comparison_rows(found: Comparison) -> list[Row]:
    """Return the lines of git range-diff."""
    if not found.text:
        return [row(Part(f"Round {found.new} is unchanged since {found.old}.", DIM))]
    rows: list[Row] = []
    for line in found.text.split("\n"):
        body = line.removeprefix(INDENT)
        style = {"+": GOOD, "-": BAD}.get(body[:1], "") if body != line else BOLD
        rows.append(row(Part(line, style), key=len(rows) if body == line else None))
    return rows


def text_rows(lines: Sequence[str]) -> list[Row]:
    """Return lines of plain text."""
    return [row(one) for one in lines]
