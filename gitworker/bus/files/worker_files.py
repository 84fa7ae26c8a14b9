"""The files of workers: the state file and the review file, each a view of the database.

They are replaced atomically.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gitworker import clock
from gitworker.bus.files.export import export_logs
from gitworker.bus.files.state_file_heartbeat import replace_text, state_files_lock
from gitworker.errors import Conflict
from gitworker.paths import StatePaths
from gitworker.repo.history.rules_approval import patch_of
from gitworker.store.api import Reader, Store
from gitworker.store.heartbeats import find_heartbeat
from gitworker.store.messages.log_positions import TRANSITIONS
from gitworker.store.records.reviews import find_review
from gitworker.store.tasks import find_task
from gitworker.store.workers import Worker, find_worker, unpublished_workers


def write_views(store: Store, paths: StatePaths, names: Iterable[str]) -> None:
    """Renew the files of these workers; raise Conflict if another process keeps them locked."""
    with state_files_lock(paths) as taken:
        if not taken:
            raise Conflict("another process keeps the workers' state files locked", "ps -ef")
        with store.read() as reader:
            states = {name: state_view(reader, name) for name in dict.fromkeys(names)}
            reviews = {name: review_view(reader, name) for name in dict.fromkeys(names)}
        for name, state in states.items():
            if state is not None:
                _replace_json(f"{paths.workers}/{name}.json", state)
        for name, review in reviews.items():
            if review is not None:
                _replace_json(f"{paths.reviews}/{name}.json", review)


def complete_files(store: Store, paths: StatePaths) -> None:
    """Renew the files of the workers whose changes the logs do not have yet, then both logs.

    For the link of a fleet: the command that made a change may have been killed.
    """
    with store.read() as reader:
        names = unpublished_workers(reader, TRANSITIONS)
    if names:  # most lines are messages, which change no view
        write_views(store, paths, names)
    export_logs(store, paths)


def state_view(reader: Reader, name: str) -> dict[str, Any] | None:
    """Return the content of a worker's state file; None for no file."""
    worker = find_worker(reader, name)
    if worker is None:
        return None
    heartbeat = find_heartbeat(reader, name)
    task = find_task(reader, worker.task_id) if worker.task_id else None
    attempts = (task.retry_count + 1, task.max_retries + 1) if task else (1, 1)
    return state_document(
        worker, heartbeat_ms=heartbeat.ts_ms if heartbeat else None, attempts=attempts
    )


def review_view(reader: Reader, name: str) -> dict[str, Any] | None:
    """Return the content of a worker's review file; None for no file."""
    worker = find_worker(reader, name)
    if worker is None or worker.task_id is None:
        return None
    review = find_review(reader, name, worker.task_id)
    if review is None:
        return None
    return {
        "worker_id": name,
        "task_id": worker.task_id,
        "review_state": worker.review_state,
        "verdict": review.verdict,
        "reviewer": review.reviewer,
        "identity": review.identity,
        "commit": review.commit_oid,
        "base": review.base_oid,
        "patches": [patch_of(one) for one in review.patches],
        "note": review.note,
        "at": clock.iso_utc(review.ts_ms),
    }


def state_document(
    worker: Worker, *, heartbeat_ms: int | None, attempts: tuple[int, int]
) -> dict[str, Any]:
    """Return a worker's state file; `attempts` are (the current attempt, the maximum)."""

    def stamp(ts_ms: int | None) -> str | None:
        return None if ts_ms is None else clock.iso_utc_seconds(ts_ms)

    return {
        "worker_id": worker.worker_id,
        "state": worker.state.value,
        "task_id": worker.task_id,
        "branch": worker.branch,
        "assigned_at": stamp(worker.assigned_at_ms),
        "state_changed_at": stamp(worker.state_changed_at_ms),
        "last_heartbeat": stamp(heartbeat_ms),
        "pid": worker.pid,
        "attempt": attempts[0],
        "max_attempts": attempts[1],
        "last_error": worker.last_error,
        "pr_url": worker.pr_url,
        "review_state": worker.review_state,
    }


def _replace_json(path: str, document: Mapping[str, Any]) -> None:
    """Replace a JSON file atomically."""
    replace_text(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
