"""The inbox, the queue, a conversation and plain texts as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.observe.inbox.rules_comments import comment_lines
from gitworker.observe.text import age_text
from gitworker.tui.rows.row import BAD, BOLD, DIM, GOOD, NOTED, SHORT, Part, age, row, title
from gitworker.tui.rows.row import paragraphs as paragraphs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitworker.journal.undo.records import ListedRecord
    from gitworker.landing.queue_status import QueueStatus
    from gitworker.observe.inbox.inbox import Inbox
    from gitworker.observe.logs.conversation import Said
    from gitworker.review.compare import Comparison
    from gitworker.store.windows import QueueWindow
    from gitworker.tui.rows.row import Row

INDENT = " " * 4


class Waiting(NamedTuple):
    """The key of a worker in the queue."""

    worker: str


class Verdict(NamedTuple):
    """The key of a verdict: the commit that was verified."""

    commit: str


class Undoable(NamedTuple):
    """The key of an operation that can be undone."""

    number: int
    kind: str


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


def queue_rows(queue: QueueStatus, records: Sequence[ListedRecord], *, now_ms: int) -> list[Row]:
    """Return the order, the newest windows with their verdicts, and the ways back."""
    running = "a landing is running" if queue.is_running else "no landing is running"
    rows = [row(Part("Order", BOLD), Part(f"  {running}", DIM))]
    for entry in queue.entries:
        facts = [entry.task_id, f"waits {age_text(entry.waited_ms)}", f"priority {entry.priority}"]
        facts += [f"after {', '.join(entry.after)}"] if entry.after else []
        rows.append(
            row(
                "  ", Part(entry.worker_id, BOLD), f"  {', '.join(facts)}",
                Part(f"  {entry.failures} failures" if entry.failures else "", BAD),
                key=Waiting(entry.worker_id),
            )
        )  # fmt: skip
        if entry.is_held:
            rows.append(row(INDENT, Part("its landing was undone; it waits for you", BAD)))
    if not queue.entries:
        rows.append(row(Part("  No approved work waits.", DIM)))
    rows += [row(), title("Windows")]
    rows += [one for window in queue.windows for one in _window(window, now_ms)]
    if not queue.windows:
        rows.append(row(Part("  No window yet.", DIM)))
    rows += [row(), title("Operations that can be undone")]
    rows += [one for listed in records for one in _record(listed, now_ms)]
    if not records:
        rows.append(row(Part("  Nothing can be undone.", DIM)))
    return rows


def _window(window: QueueWindow, now_ms: int) -> Iterator[Row]:
    outcome = (window.outcome or "running").replace("_", " ")
    size = f"{window.landed} of {len(window.workers)} landed"
    began = f"{age(now_ms, window.started_at_ms)} ago by {window.actor}"
    yield row(f"  #{window.id} ", Part(outcome, BOLD), Part(f"  {size}, {began}", DIM))
    for one in window.workers:
        yield row(INDENT, one["worker"], Part(f"  {one['commit'][:SHORT]}", DIM))
    for one in window.verdicts:
        word, style = ("passed", GOOD) if one["passed"] else ("failed", BAD)
        notes = [word for word in ("cached", "flaky") if one.get(word)]
        facts = ", ".join([*notes, *filter(None, [one.get("reason")])])
        yield row(
            INDENT, f"verify the first {one['prefix']}: ", Part(word, style),
            Part(f"  {facts}" if facts else "", DIM), key=Verdict(one["commit"]),
        )  # fmt: skip


def _record(listed: ListedRecord, now_ms: int) -> Iterator[Row]:
    record, refusal = listed.record, listed.refusal
    text = f"  {record.kind} of {', '.join(record.workers)}"
    since = Part(f"  #{record.number}, {age(now_ms, record.at_ms)} ago by {record.actor}", DIM)
    if refusal is None:
        yield row(text, since, key=Undoable(record.number, record.kind))
        return
    yield row(Part(text, DIM), since)
    yield row(INDENT, Part(refusal.message, DIM))


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
