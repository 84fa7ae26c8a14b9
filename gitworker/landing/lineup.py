"""Who waits to land, in which order, and what the last windows showed: one read, as data."""

from typing import Any, NamedTuple

from gitworker.landing.rules_queue import Candidate, order, score
from gitworker.model.worker import WorkerState
from gitworker.store.api import Reader
from gitworker.store.windows import Window, newest_windows

DEFAULT_PRIORITY = 100  # seed 4
SHOWN_WINDOWS = 5


class Place(NamedTuple):
    """One worker in the line. `score` orders it, the smallest first; `waited_ms` is its wait."""

    worker_id: str
    task_id: str
    priority: int
    failures: int
    waited_ms: int
    score: float
    after: tuple[str, ...]


class Lineup(NamedTuple):
    """The landing queue: the line, the newest windows, newest first, whether a queue is at work."""

    places: list[Place]
    windows: list[Window]
    is_running: bool


def line_up(reader: Reader, now_ms: int) -> list[Candidate]:
    """Return the workers that are approved, in the order in which they are to land."""
    waiting = reader.rows("windows.waiting", state=WorkerState.APPROVED.value)
    after: dict[str, set[str]] = {}
    for row in reader.rows("windows.dependencies", state=WorkerState.APPROVED.value):
        after.setdefault(row["task_id"], set()).add(row["depends_on"])
    found = [
        Candidate(
            row["worker_id"],
            row["task_id"],
            priority=row["priority"],
            approved_at_ms=row["state_changed_at_ms"],
            failures=row["failures"],
            after=frozenset(after.get(row["task_id"], ())),
        )
        for row in waiting
    ]
    return order(found, now_ms)


def read_lineup(reader: Reader, now_ms: int, *, is_running: bool) -> Lineup:
    """Return the queue as it stands; an open window of a queue that is not running was cut off."""
    places = [
        Place(
            one.worker_id,
            one.task_id,
            one.priority,
            one.failures,
            waited_ms=max(0, now_ms - one.approved_at_ms),
            score=round(score(one, now_ms), 1),
            after=tuple(sorted(one.after)),
        )
        for one in line_up(reader, now_ms)
    ]
    windows = [
        window if window.outcome or is_running else window._replace(outcome="cut_off")
        for window in newest_windows(reader, SHOWN_WINDOWS)
    ]
    return Lineup(places, windows, is_running)


def json_lineup(lineup: Lineup) -> dict[str, Any]:
    """Return the queue as the fields of one JSON document."""
    return {
        "running": lineup.is_running,
        "queue": [place._asdict() | {"after": list(place.after)} for place in lineup.places],
        "windows": [window._asdict() for window in lineup.windows],
    }
