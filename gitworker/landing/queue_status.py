"""The queue as data: the waiting workers in order and the newest windows, in one read."""

from typing import Any, NamedTuple

from gitworker.landing.rules_queue import Candidate, order, score
from gitworker.landing.search.rules_search import span_of
from gitworker.model.worker import WorkerState
from gitworker.store.api import Reader
from gitworker.store.fleet.machines import silent_machines
from gitworker.store.messages.transitions import came_by_undo
from gitworker.store.windows import QueueWindow, landing_order, newest_windows, workers_waiting
from gitworker.store.workers import find_worker

SHOWN_WINDOWS = 5


class QueueEntry(NamedTuple):
    """One worker in the queue. The smallest `score` is first; `waited_ms` is its waiting time.

    `is_held`: its landing was undone, so `queue --watch` leaves it to a person.
    """

    worker_id: str
    task_id: str
    priority: int
    failures: int
    waited_ms: int
    score: float
    after: tuple[str, ...]
    is_held: bool = False


class QueueStatus(NamedTuple):
    """The landing queue: waiting workers, newest windows first, whether a queue is running."""

    entries: list[QueueEntry]
    windows: list[QueueWindow]
    is_running: bool


def list_waiting(reader: Reader, now_ms: int) -> list[Candidate]:
    """Return the approved workers in the order in which they land."""
    after = landing_order(reader, WorkerState.APPROVED)
    found = [
        Candidate(
            one.worker_id,
            one.task_id,
            priority=one.priority,
            approved_at_ms=one.state_changed_at_ms,
            failures=one.failures,
            after=frozenset(after.get(one.task_id, ())),
        )
        for one in workers_waiting(reader, WorkerState.APPROVED)
    ]
    return order(found, now_ms)


def read_queue_status(
    reader: Reader, now_ms: int, *, is_running: bool, machine: str | None = None
) -> QueueStatus:
    """Return the state of the queue; an open window is cut off if no queue is running.

    `is_running`: a queue runs here, on `machine` of a fleet. On other machines that report, open
    windows are being verified.
    """
    entries = [
        QueueEntry(
            one.worker_id,
            one.task_id,
            one.priority,
            one.failures,
            waited_ms=max(0, now_ms - one.approved_at_ms),
            score=round(score(one, now_ms), 1),
            after=tuple(sorted(one.after)),
            is_held=_is_held(reader, one.worker_id),
        )
        for one in list_waiting(reader, now_ms)
    ]
    windows = newest_windows(reader, SHOWN_WINDOWS)
    silent = silent_machines(reader) if any(_is_elsewhere(one, machine) for one in windows) else {}
    for place, window in enumerate(windows):
        runs = window.machine not in silent if _is_elsewhere(window, machine) else is_running
        if not (window.outcome or runs):
            windows[place] = window._replace(outcome="cut_off")
    return QueueStatus(entries, windows, is_running)


def _is_elsewhere(window: QueueWindow, machine: str | None) -> bool:
    return window.machine not in (None, machine)


def suspected(window: QueueWindow) -> list[str]:
    """Return the workers of an open window of which the first failing one is searched."""
    span = span_of(len(window.workers), window.verdicts)
    if window.outcome or not span.has_failure:
        return []
    return [one["worker"] for one in window.workers[span.green : span.red]]


def _is_held(reader: Reader, name: str) -> bool:
    worker = find_worker(reader, name)
    return worker is not None and came_by_undo(reader, name, worker.version)


def json_lineup(status: QueueStatus) -> dict[str, Any]:
    """Return the queue as the fields of one JSON document."""
    return {
        "running": status.is_running,
        "queue": [entry._asdict() | {"after": list(entry.after)} for entry in status.entries],
        "windows": [_json_window(window) for window in status.windows],
    }


def _json_window(window: QueueWindow) -> dict[str, Any]:
    fields = window._asdict()
    del fields["offer"]
    return fields
