"""The inbox, a conversation and plain texts as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.observe.inbox.rules_comments import comment_lines
from gitworker.observe.logs.events import event_summary
from gitworker.tui.rows.row import BAD, BOLD, DIM, GOOD, NOTED, Part, age, row
from gitworker.tui.rows.row import paragraphs as paragraphs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitworker.bus.search.search_messages import SearchResult
    from gitworker.observe.inbox.inbox import Inbox
    from gitworker.observe.logs.conversation import Said
    from gitworker.observe.logs.events import Event
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
        rows.append(row(Part("There are more: git worker inbox -n 1000", DIM)))
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


class MessageKey(NamedTuple):
    """The key of a message, with the two that it is between."""

    seq: int
    sender: str
    to: str | None


def message_rows(events: Sequence[Event], *, now_ms: int, width: int) -> list[Row]:
    """Return messages and commits, the newest first."""
    rows: list[Row] = []
    for one in reversed(events):
        kind = "commit" if one.kind == "commit" else one.name
        since = f"{age(now_ms, one.ts_ms)} ago"
        rows += _message(MessageKey(one.seq, one.source, one.to), kind, one.task, since)
        rows += paragraphs_of(event_summary(one), width=width, indent=INDENT)
    return rows or [row(Part("No message yet.", DIM))]


def found_rows(found: Sequence[SearchResult], *, width: int) -> list[Row]:
    """Return the messages that a search has found."""
    rows: list[Row] = []
    for one in found:
        said = one.message
        key = MessageKey(said["seq"], said["from"], said["to"])
        rows += _message(key, said["type"], said.get("correlation_id"), said["ts"])
        rows += paragraphs_of(one.snippet, width=width, indent=INDENT)
    return rows or [row(Part("No message has all of these words.", DIM))]


def _message(key: MessageKey, kind: str, task: str | None, since: str) -> Iterator[Row]:
    to = f" → {key.to}" if key.to else ""
    facts = f"  {task or ''}  #{key.seq}, {since}"
    yield row(Part(key.sender, BOLD), f"{to} ", Part(kind, NOTED), Part(facts, DIM), key=key)


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
