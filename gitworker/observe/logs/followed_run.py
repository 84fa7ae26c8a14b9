"""The run of an agent whose log is followed, from its beginning to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.liveness.supervised_agent import has_run_to_its_end, may_be_resumed
from gitworker.store.records.runs import find_latest_run
from gitworker.store.workers import load_worker

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.records.runs import Run


class RunEnd(NamedTuple):
    """The end of a followed run: no more lines will come."""

    worker: str
    reason: str | None


def find_followed_run(session: Session, name: str) -> Run | None:
    """Return the newest run of a worker if its agent runs, or was the last to work as the worker.

    None if no supervised agent works on the present task, so that its log has no end.
    """
    with session.store.read() as reader:
        worker, run = load_worker(reader, name), find_latest_run(reader, name)
    if run is None or run.ended_at_ms is None:
        return run
    return run if has_run_to_its_end(run, task=worker.task_id, pid=worker.pid) else None


def is_over(run: Run) -> bool:
    """Return whether a run has ended and no supervisor waits to resume its agent."""
    return run.ended_at_ms is not None and not may_be_resumed(run)


def newest_run(session: Session, before: Run) -> Run:
    """Return the newest run of the same worker as it is now."""
    with session.store.read() as reader:
        return find_latest_run(reader, before.worker_id) or before


def end_text(end: RunEnd) -> str:
    """Return the end of a run in words."""
    reason = f": {end.reason}" if end.reason else ""
    return f"the agent of {end.worker} has ended{reason}; next: git worker show {end.worker}"


def json_end(end: RunEnd) -> dict[str, str | None]:
    """Return the end of a run as JSON data."""
    return {"kind": "end", **end._asdict()}
