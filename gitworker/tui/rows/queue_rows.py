"""The landing queue as rows: its order, the runs of the verify commands, windows, operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.landing.queue_status import suspected
from gitworker.observe.text import age_text
from gitworker.tui.rows.row import BAD, BOLD, DIM, GOOD, NOTED, SHORT, Part, age, row, title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitworker.journal.undo.records import ListedRecord
    from gitworker.landing.queue_status import QueueStatus
    from gitworker.observe.logs.running_verify import RunningVerify
    from gitworker.store.windows import QueueWindow
    from gitworker.tui.rows.row import Row

INDENT = " " * 4
LINES_SHOWN = 6


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


def queue_rows(
    queue: QueueStatus,
    runs: Sequence[RunningVerify],
    records: Sequence[ListedRecord],
    *,
    now_ms: int,
) -> list[Row]:
    """Return the order, what is verified now, the newest windows, and the ways back."""
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
    if runs:
        rows += [row(), title("Verified now")]
    rows += [one for run in runs for one in _running(run, now_ms)]
    rows += [row(), title("Windows")]
    rows += [one for window in queue.windows for one in _window(window, now_ms)]
    if not queue.windows:
        rows.append(row(Part("  No window yet.", DIM)))
    rows += [row(), title("Operations that can be undone")]
    rows += [one for listed in records for one in _record(listed, now_ms)]
    if not records:
        rows.append(row(Part("  Nothing can be undone.", DIM)))
    return rows


def _running(run: RunningVerify, now_ms: int) -> Iterator[Row]:
    label = run.label or run.commit[:SHORT]
    since = f"  {run.commit[:SHORT]}, for {age(now_ms, run.started_at_ms)}"
    yield row("  ", Part(label, BOLD), Part(since, DIM), key=Verdict(run.commit))
    yield from (row(INDENT, Part(line, DIM)) for line in run.lines[-LINES_SHOWN:])


def _window(window: QueueWindow, now_ms: int) -> Iterator[Row]:
    outcome = (window.outcome or "running").replace("_", " ")
    size = f"{window.landed} of {len(window.workers)} landed"
    place = f" on {window.machine}" if window.machine else ""
    began = f"{age(now_ms, window.started_at_ms)} ago by {window.actor}{place}"
    yield row(f"  #{window.id} ", Part(outcome, BOLD), Part(f"  {size}, {began}", DIM))
    for one in window.workers:
        yield row(INDENT, one["worker"], Part(f"  {one['commit'][:SHORT]}", DIM))
    suspects = suspected(window)
    if suspects:
        yield row(INDENT, Part(f"one of these fails: {', '.join(suspects)}", NOTED))
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
