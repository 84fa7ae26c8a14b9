"""Workstreams as their readers see them: the state, the counts of their tasks, their metrics."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.observe.text import NOTHING, age_text, listing
from gitworker.states.task_machine import label_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.store.api import Reader
from gitworker.model.ref_names import short_name
from gitworker.states.workstream_machine import ENDED, takes_repairs
from gitworker.store.planning.workstreams import (
    Workstream,
    all_workstreams,
    find_open_task,
    shares_of,
    sums_of,
)

HEAD = ("WORKSTREAM", "STATE", "DONE", "TIME", "TASKS", "NEWS")
DONE = "COMPLETED"


class WorkstreamLine(NamedTuple):
    """One workstream with its tasks by status; `running_ms` is None before its first task.

    `open_task` is the one that decides how it goes on; None if all have ended.
    """

    stored: Workstream
    tasks: tuple[tuple[str, int], ...]
    retries: int
    tokens: int
    running_ms: int | None
    open_task: str | None

    @property
    def done_of(self) -> tuple[int, int]:
        """Return the number of completed tasks, and of all that were not dropped."""
        counts = dict(self.tasks)
        return counts.get(DONE, 0), sum(counts.values()) - counts.get("CANCELLED", 0)


def read_workstreams(
    reader: Reader, now_ms: int, *, every: bool = True
) -> tuple[WorkstreamLine, ...]:
    """Return the workstreams, oldest first; without `every` those that are not archived."""
    found = all_workstreams(reader)
    return tuple(
        read_line(reader, one, now_ms) for one in found if every or one.archived_at_ms is None
    )


def read_line(reader: Reader, stored: Workstream, now_ms: int) -> WorkstreamLine:
    """Return a workstream with the counts and the metrics of its tasks."""
    counts: Counter[str] = Counter()
    for share in shares_of(reader, stored.id):
        counts[share.status.value] += share.number
    running_ms = None
    if stored.started_at_ms is not None:
        running_ms = max(0, (stored.ended_at_ms or now_ms) - stored.started_at_ms)
    return WorkstreamLine(
        stored, tuple(sorted(counts.items())), *sums_of(reader, stored.id), running_ms,
        find_open_task(reader, stored.id),
    )  # fmt: skip


def render_workstreams(lines: Sequence[WorkstreamLine], *, width: int | None, color: bool) -> str:
    """Return one row for each workstream."""
    rows = [_row(line, is_bare=width is None) for line in lines]
    return listing(HEAD, rows, width=width, color=color, empty="there are no workstreams")


def json_workstream(line: WorkstreamLine) -> dict[str, Any]:
    """Return a workstream as JSON data."""
    stored = line.stored
    return {
        "workstream": stored.id, "title": stored.title, "state": stored.state.value,
        "validation": list(stored.validation),
        "branch": short_name(stored.branch) if stored.branch else None,
        "landed": stored.landed_oid,
        "tasks": dict(line.tasks), "retries": line.retries, "tokens": line.tokens,
        "running_ms": line.running_ms, "error": stored.last_error or None,
        "created_at": _stamp(stored.created_at_ms), "started_at": _stamp(stored.started_at_ms),
        "ended_at": _stamp(stored.ended_at_ms), "archived_at": _stamp(stored.archived_at_ms),
        "next": next_command(line),
    }  # fmt: skip


def next_command(line: WorkstreamLine) -> str | None:
    """Return the command that continues a workstream; None if nothing is left to do.

    The branch of one that has failed or was cancelled stays for its user.
    """
    stored = line.stored
    may_land = stored.has_to_land and takes_repairs(stored.state)  # or its landing was undone
    if stored.state in ENDED and not may_land:
        branch = stored.branch if stored.has_to_land else None
        return None if branch is None else f"git log {short_name(branch)}"
    if line.open_task is not None:
        return f"git worker task why {line.open_task}"
    if takes_repairs(stored.state):
        return f"git worker workstream validate {stored.id}"
    return f"git worker workstream add {stored.id} <task>"


def _row(line: WorkstreamLine, *, is_bare: bool) -> tuple[str, ...]:
    done, kept = line.done_of
    counted = line.tasks if is_bare else label_counts(line.tasks)
    counts = ", ".join(f"{number} {name}" for name, number in counted)
    return (
        line.stored.id, line.stored.state.value, f"{done}/{kept}",
        NOTHING if line.running_ms is None else age_text(line.running_ms), counts or NOTHING,
        line.stored.last_error or _news(line.stored),
    )  # fmt: skip


def _news(stored: Workstream) -> str:
    """Return the title, with the branch on which the tasks land."""
    branch = f"lands on {short_name(stored.branch)}" if stored.branch and stored.has_to_land else ""
    return "; ".join(filter(None, (stored.title, branch)))


def _stamp(ts_ms: int | None) -> str | None:
    return None if ts_ms is None else clock.iso_utc(ts_ms)
