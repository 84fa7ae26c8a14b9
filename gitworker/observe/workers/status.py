"""status: all workers on one screen, by four queries and one git process for any number of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.liveness.readings import this_moment
from gitworker.liveness.rules import ClockReading, Heartbeat, Liveness
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import ref_of
from gitworker.model.task import TaskStatus
from gitworker.model.worker import WorkerState
from gitworker.observe.logs.events import Event, event_text, json_event, read_newest_events
from gitworker.observe.text import (
    BLUE,
    BOLD,
    CYAN,
    DIM,
    GREEN,
    NOTHING,
    RED,
    YELLOW,
    age_text,
    cut,
    one_line,
    paint,
    table,
)
from gitworker.observe.workers.rules import note_of, shows_subject, waits_for, worker_liveness
from gitworker.repo.history.walk import Tip, read_tips
from gitworker.store.operations import unfinished_operations
from gitworker.store.records.screens import count_tasks, read_worker_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.session import Session
    from gitworker.store.records.screens import WorkerRow

EVENTS_SHOWN = 5
SHORT = 10
HEAD = ("WORKER", "TASK", "STATE", "AGE", "LIVE", "DONE", "+/-", "NOTE")
STATE_COLORS = {
    "ASSIGNED": BLUE, "WORKING": CYAN, "IN_REVIEW": YELLOW, "APPROVED": GREEN, "COMPLETED": GREEN,
    "STALE": RED, "FAILED": RED, "IDLE": DIM,
}  # fmt: skip
LIVENESS_COLORS = {"OK": GREEN, "WARN": YELLOW, "STALE": RED, "DEAD": RED}
COLORS = {2: STATE_COLORS, 4: LIVENESS_COLORS}


class WorkerLine(NamedTuple):
    """One worker's line. `note` is its most important fact; `tip` is None without a branch.

    `parent` is the worker that it is stacked on, if that has not landed yet.
    """

    worker: str
    state: WorkerState
    since_ms: int
    task: str | None
    task_status: TaskStatus | None
    branch: str | None
    liveness: Liveness
    progress: float | None
    waits_for: str | None
    last_error: str | None
    tip: Tip | None
    note: str
    parent: str | None = None


class OpenOperation(NamedTuple):
    """An operation that has begun and not ended."""

    kind: str
    worker: str
    step: str
    since_ms: int


class StatusScreen(NamedTuple):
    """Everything at one moment. `tasks` counts tasks by status."""

    now_ms: int
    target: str
    target_tip: Oid | None
    workers: tuple[WorkerLine, ...]
    tasks: tuple[tuple[str, int], ...]
    operations: tuple[OpenOperation, ...]
    events: tuple[Event, ...]


def read_status(
    session: Session, refs: Mapping[Ref, Oid], *, every_subject: bool = False
) -> StatusScreen:
    """Read one snapshot of the store.

    `refs` are the tips of the target and of the workers' branches, as `Call.survey` returns them.
    Subjects are read if the screen shows them, or of every branch (one git process, if any).
    """
    moment = this_moment()
    with session.store.read() as reader:
        rows = read_worker_rows(reader)
        tasks = count_tasks(reader)
        operations = unfinished_operations(reader)
        events = read_newest_events(reader, EVENTS_SHOWN)
    shown = {tip for row in rows if (tip := _shown_tip(row, refs, session.target)) is not None}
    named = set(refs.values()) if every_subject else shown
    tips = read_tips(session.git, refs, against=session.target, named=named)
    target = tips.get(session.target)
    return StatusScreen(
        now_ms=moment.now_ms,
        target=session.target_name,
        target_tip=target.oid if target else None,
        workers=tuple(_worker_line(row, tips, moment, session) for row in rows),
        tasks=tuple(tasks),
        operations=tuple(
            OpenOperation(one.kind, one.worker_id, one.step, one.updated_at_ms)
            for one in operations
        ),
        events=events,
    )


def render_status(status: StatusScreen, *, width: int | None, color: bool) -> str:
    """Return the screen as text without a final newline."""
    tip = status.target_tip[:SHORT] if status.target_tip else "no commit yet"
    target = paint(one_line(status.target), BOLD, color=color)
    lines = [f"target {target}  {tip}", ""]
    if status.workers:
        rows = [_cells(line, status.now_ms) for line in status.workers]
        lines += table(HEAD, rows, width=width, colors=COLORS, color=color)
    else:
        lines.append("no workers yet: git worker spawn WORKER TASK")
    if status.tasks:
        counts = ", ".join(f"{number} {name}" for name, number in status.tasks)
        lines += ["", cut(f"tasks: {counts}", width)]
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
        "operations": [
            {
                "kind": one.kind, "worker": one.worker, "step": one.step,
                "since": clock.iso_utc(one.since_ms),
            }
            for one in status.operations
        ],
        "events": [json_event(event) for event in status.events],
    }  # fmt: skip


def progress_text(progress: float | None) -> str:
    """Return a share of 1 in percent; `-` if unknown."""
    return NOTHING if progress is None else f"{progress:.0%}"


def divergence_text(ahead: int | None, behind: int | None) -> str:
    """Return ahead and behind as `+3/-1`; `-` if unknown."""
    return NOTHING if ahead is None or behind is None else f"+{ahead}/-{behind}"


def _shown_tip(row: WorkerRow, refs: Mapping[Ref, Oid], target: Ref) -> Oid | None:
    """Return the tip of a worker at work that has its own commits; None for the others."""
    if not row.branch or not shows_subject(row.state):
        return None
    tip = refs.get(ref_of(row.branch))
    return None if tip in (row.base_oid, refs.get(target)) else tip


def _worker_line(
    row: WorkerRow, tips: dict[Ref, Tip], moment: ClockReading, session: Session
) -> WorkerLine:
    waiting_for = waits_for(row.state, task_status=row.task_status, stale_from=row.stale_from)
    tip = tips.get(ref_of(row.branch)) if row.branch else None
    target = tips.get(session.target)
    is_new = tip is not None and tip.oid not in (row.base_oid, target and target.oid)
    heartbeat = None
    if row.beat_ms is not None:
        heartbeat = Heartbeat(row.beat_ms, row.mono_ms, row.boot_id, row.host)
    return WorkerLine(
        worker=row.worker_id,
        state=row.state,
        since_ms=row.state_changed_at_ms,
        task=row.task_id,
        task_status=row.task_status,
        branch=row.branch,
        liveness=worker_liveness(row.state, heartbeat, moment, session.settings),
        progress=row.progress,
        waits_for=waiting_for,
        last_error=row.last_error,
        tip=tip,
        note=note_of(
            row.state, last_error=row.last_error, waits=waiting_for,
            subject=tip.subject if tip is not None and is_new else None,
        ),
        parent=row.parent,
    )  # fmt: skip


def _cells(line: WorkerLine, now_ms: int) -> tuple[str, ...]:
    tip = line.tip
    return (
        line.worker,
        _task_text(line),
        line.state.value,
        age_text(max(0, now_ms - line.since_ms)),
        line.liveness.value,
        progress_text(line.progress),
        divergence_text(tip.ahead, tip.behind) if tip else NOTHING,
        line.note,
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
    return {
        "worker": line.worker,
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
    }
