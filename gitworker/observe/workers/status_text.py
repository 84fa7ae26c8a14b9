"""Render `status`: the screen as text, or JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.model.worker import WorkerState
from gitworker.observe.logs.events import event_text, json_event
from gitworker.observe.next_step.trouble import json_trouble
from gitworker.observe.text import (
    BLUE,
    BOLD,
    CYAN,
    DIM,
    GAP,
    GREEN,
    NOTHING,
    RED,
    YELLOW,
    age_text,
    column_widths,
    cut,
    few_files,
    one_line,
    paint,
    table,
)
from gitworker.observe.workers.overlaps import json_overlaps
from gitworker.observe.workers.returned import json_returned
from gitworker.observe.workers.rules_worker import PLACES, is_old, needs_command, stopped_among
from gitworker.rules_text import count_text
from gitworker.states.task_machine import label_counts
from gitworker.states.worker_machine import state_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.observe.logs.events import Event
    from gitworker.observe.workers.returned import ReturnedWork
    from gitworker.observe.workers.status import OpenOperation, StatusScreen, WorkerLine

SHORT = 10
WIDE = 1000  # columns of a screen that is no terminal
HEAD = ("WORKER", "MACHINE", "TASK", "STATE", "AGE", "LIVE", "DONE", "+/-", "NEWS")
STATE_COLORS = {
    state_label(state): color
    for state, color in (
        (WorkerState.ASSIGNED, BLUE), (WorkerState.WORKING, CYAN), (WorkerState.IN_REVIEW, YELLOW),
        (WorkerState.APPROVED, GREEN), (WorkerState.COMPLETED, GREEN), (WorkerState.STALE, RED),
        (WorkerState.FAILED, RED), (WorkerState.IDLE, DIM),
    )
}  # fmt: skip
LIVENESS_COLORS = {"OK": GREEN, "WARN": YELLOW, "STALE": RED, "DEAD": RED}
COLORS = {"STATE": STATE_COLORS, "LIVE": LIVENESS_COLORS}
ELASTIC = frozenset({"WORKER", "TASK"})
NEWS_SHOWN = 200  # characters; a pipe has no width, and a review may be long
ARROW = "→ "
NO_WORKERS = "no workers yet: git worker spawn <worker> <task>"
EMPTY_QUEUE = {"agents": [], "budgets": [], "queue": {"ready": [], "more": False}}


def render_status(
    status: StatusScreen, *, width: int | None, color: bool, include_all: bool = False
) -> str:
    """Return the screen as text without a final newline.

    Workers that completed their task more than a day ago are counted, or shown by `include_all`.
    """
    tip = status.target_tip[:SHORT] if status.target_tip else "no commit yet"
    target = paint(one_line(status.target), BOLD, color=color)
    lines = [f"target {target}  {tip}", ""]
    if status.workers:
        lines += _workers(status, width=width, color=color, include_all=include_all)
    else:
        lines.append(NO_WORKERS if status.target_tip else "no workers yet: git worker doctor")
    if status.tasks:
        counts = ", ".join(f"{number} {label}" for label, number in label_counts(status.tasks))
        lines += ["", cut(f"tasks: {counts}", width)]
        if stopped := stopped_among(name for name, _ in status.tasks):
            lines.append(cut(f"{ARROW}git worker task list {' '.join(stopped)}", width))
    if status.workstreams:
        from gitworker.observe.workstreams import render_workstreams  # 3 ms, only if there are any

        lines += ["", render_workstreams(status.workstreams, width=width or WIDE, color=color)]
    if status.queue is not None:
        from gitworker.observe.queue.overview import render_overview  # 5 ms, only if there is any

        lines += render_overview(status.queue, status.now_ms, width=width or WIDE, color=color)
    if status.operations:
        lines += ["", paint("open operations", BOLD, color=color)]
        lines += [cut(_operation_text(one, status.now_ms), width) for one in status.operations]
    if status.events:
        lines += ["", paint("last events", BOLD, color=color)]
        lines += [cut(_event_line(event, status.now_ms), width) for event in status.events]
    return "\n".join(lines)


def json_status(status: StatusScreen) -> dict[str, Any]:
    """Return the screen as JSON data."""
    return {
        "target": {"branch": status.target, "commit": status.target_tip},
        "workers": [_json_worker(line, status.now_ms) for line in status.workers],
        "tasks": dict(status.tasks),
        "workstreams": _json_workstreams(status),
        **(EMPTY_QUEUE if status.queue is None else status.queue.to_json()),
        "operations": [
            {
                "kind": one.kind, "worker": one.worker, "step": one.step,
                "since": clock.iso_utc(one.since_ms),
            }
            for one in status.operations
        ],
        "events": [json_event(event) for event in status.events],
    }  # fmt: skip


def _json_workstreams(status: StatusScreen) -> list[dict[str, Any]]:
    if not status.workstreams:
        return []
    from gitworker.observe.workstreams import json_workstream  # 3 ms, only if there are any

    return [json_workstream(line) for line in status.workstreams]


def progress_text(progress: float | None) -> str:
    """Return a share of 1 in percent; `-` if unknown."""
    return NOTHING if progress is None else f"{progress:.0%}"


def divergence_text(ahead: int | None, behind: int | None) -> str:
    """Return ahead and behind as `+3/-1`; `-` if unknown."""
    return NOTHING if ahead is None or behind is None else f"+{ahead}/-{behind}"


def _workers(
    status: StatusScreen, *, width: int | None, color: bool, include_all: bool
) -> list[str]:
    """Return the table of the workers, those at work first, and the number of those left out."""
    old = Counter(_is_old(one, status.now_ms) for one in status.workers)
    shown = sorted(
        (one for one in status.workers if include_all or not _is_old(one, status.now_ms)),
        key=lambda one: (PLACES[one.state], one.worker),
    )
    lines = _table(shown, status.now_ms, width=width, color=color) if shown else []
    if old[True] and not include_all:
        count = count_text(old[True], "worker")
        text = f"{count} completed more than a day ago: git worker status --all"
        lines += ["", cut(text, width)] if lines else [cut(text, width)]
    return lines


def _is_old(line: WorkerLine, now_ms: int) -> bool:
    return line.trouble is None and is_old(line.state, age_ms=now_ms - line.since_ms)


def _table(
    shown: Sequence[WorkerLine], now_ms: int, *, width: int | None, color: bool
) -> list[str]:
    """Return the table without empty columns; the news get the width that is left.

    Below a worker that cannot continue without a command is that command, and the log of the
    verification that failed.
    """
    rows = [_cells(line, now_ms) for line in shown]
    empty = {at for at, cells in enumerate(zip(*rows, strict=True)) if set(cells) <= {NOTHING, ""}}
    kept = [at for at in range(len(HEAD)) if at not in empty]
    head = [HEAD[at] for at in kept]
    cells = [[one_line(row[at]) for at in kept] for row in rows]
    widths = column_widths(head, cells, width=width, elastic=ELASTIC)
    colors = {at: COLORS[name] for at, name in enumerate(head) if name in COLORS}
    heading, *lines = table(head, cells, width=width, colors=colors, color=color, widths=widths)
    found = [heading]
    for one, line in zip(shown, lines, strict=True):
        found.append(line)
        waits = one.returned is not None or one.agent_ended
        needs = one.trouble or needs_command(one.state, returned=waits)
        found += rows_below(line, widths[0], one.next_command if needs else None, one.returned)
    return found


def rows_below(
    row: str, indent: int, command: str | None, returned: ReturnedWork | None
) -> list[str]:
    """Return the lines below a worker's row, which are never cut: command, files and log.

    `indent` is the width of the first column. The files are those in conflict, if the row has not
    enough space for them; the log is that of the verification after which the work came back.
    """
    texts = [ARROW + one_line(command)] if command else []
    if returned is not None and returned.files:
        files = one_line(few_files(returned.files))
        texts += [f"files: {files}"] if files not in row else []
    if returned is not None and returned.log:
        texts.append(f"log: {one_line(returned.log)}")
    return [" " * indent + GAP + text for text in texts]


def _cells(line: WorkerLine, now_ms: int) -> tuple[str, ...]:
    tip = line.tip
    return (
        line.worker,
        line.machine or NOTHING,
        _task_text(line),
        state_label(line.state),
        age_text(max(0, now_ms - line.since_ms)),
        line.liveness.value,
        progress_text(line.progress),
        divergence_text(tip.ahead, tip.behind) if tip else NOTHING,
        cut(one_line(line.news), NEWS_SHOWN),
    )


def _task_text(line: WorkerLine) -> str:
    """Return the task, with the worker that it is stacked on as `form on auth`."""
    if line.task is None:
        return NOTHING
    return line.task if line.parent is None else f"{line.task} on {line.parent}"


def _operation_text(one: OpenOperation, now_ms: int) -> str:
    age = age_text(max(0, now_ms - one.since_ms))
    return one_line(f"{age:>4}  {one.kind} of {one.worker}, at step {one.step}")


def _event_line(event: Event, now_ms: int) -> str:
    return f"{age_text(max(0, now_ms - event.ts_ms)):>4}  {event_text(event)}"


def _json_worker(line: WorkerLine, now_ms: int) -> dict[str, Any]:
    verified = line.verified
    return {
        "worker": line.worker,
        "machine": line.machine,
        "state": line.state.value,
        "since": clock.iso_utc(line.since_ms),
        "age_s": max(0, now_ms - line.since_ms) // 1000,
        "task": line.task,
        "task_status": line.task_status.value if line.task_status else None,
        "branch": line.branch,
        "parent": line.parent,
        "commit": line.tip.oid if line.tip else None,
        "subject": line.tip.subject if line.tip else None,
        "ahead": line.tip.ahead if line.tip else None,
        "behind": line.tip.behind if line.tip else None,
        "liveness": line.liveness.value,
        "progress": line.progress,
        "waits_for": line.waits_for,
        "last_error": line.last_error,
        "news": line.news,
        "returned": json_returned(line.returned),
        "verify": None if verified is None else {
            "verdict": verified.verdict, "reason": verified.reason, "log": verified.log,
            "at": clock.iso_utc(verified.ts_ms),
        },
        "conflicts": json_overlaps(line.conflicts),
        "trouble": json_trouble(line.trouble),
        "next": line.next_command,
    }  # fmt: skip
