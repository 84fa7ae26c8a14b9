"""Files for people and other programs: a worker's state file, its review file, the logs.

They are views of the database, replaced atomically after each change. A crash leaves an older
version, which the next command renews.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from gitworker import clock
from gitworker.bus.files.export import TRANSITIONS, export_logs
from gitworker.bus.files.state_file_heartbeat import replace_text, state_files_lock
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.errors import Conflict, GitWorkerError, as_gitworker_error
from gitworker.notifications.start_job import start_notify_job
from gitworker.repo.history.rules_approval import patch_of
from gitworker.session import Session
from gitworker.store.api import Reader
from gitworker.store.heartbeats import find_heartbeat
from gitworker.store.records.reviews import find_review
from gitworker.store.tasks import find_task
from gitworker.store.workers import Worker, find_worker, unpublished_workers


def publish_views(session: Session, *names: str) -> None:
    """Renew the views of these workers and both logs, and wake followers.

    The operation itself is complete. If the files cannot be written now, the next command writes
    them or reports the reason.
    """
    with suppress(OSError, GitWorkerError):
        _publish(session, names)


def _publish(session: Session, names: Iterable[str]) -> None:
    with state_files_lock(session.paths) as taken:
        if not taken:
            raise Conflict("another process keeps the workers' state files locked", "ps -ef")
        with session.store.read() as reader:
            states = {name: _state(reader, name) for name in dict.fromkeys(names)}
            reviews = {name: _review(reader, name) for name in dict.fromkeys(names)}
        for name, state in states.items():
            if state is not None:
                replace_json(f"{session.paths.workers}/{name}.json", state)
        for name, review in reviews.items():
            if review is not None:
                replace_json(f"{session.paths.reviews}/{name}.json", review)
    export_logs(session.store, session.paths)
    notify_followers(session.paths.bell)
    start_notify_job(session)


def expected_views(session: Session, name: str) -> dict[str, dict[str, Any] | None]:
    """Return the expected content of a worker's files by directory; None for no file."""
    with session.store.read() as reader:
        return {
            session.paths.workers: _state(reader, name),
            session.paths.reviews: _review(reader, name),
        }


def catch_up(session: Session) -> GitWorkerError | None:
    """Rewrite the views of workers whose last change was not published: its command was killed.

    Returns the error if they cannot be written.
    """
    with session.store.read() as reader:
        names = unpublished_workers(reader, TRANSITIONS)
    if names:
        try:
            _publish(session, names)
        except (OSError, GitWorkerError) as error:
            return as_gitworker_error(error)
    return None


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


def replace_json(path: str, document: Mapping[str, Any]) -> None:
    """Replace a JSON file atomically."""
    replace_text(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def _state(reader: Reader, name: str) -> dict[str, Any] | None:
    worker = find_worker(reader, name)
    if worker is None:
        return None
    heartbeat = find_heartbeat(reader, name)
    task = find_task(reader, worker.task_id) if worker.task_id else None
    attempts = (task.retry_count + 1, task.max_retries + 1) if task else (1, 1)
    return state_document(
        worker, heartbeat_ms=heartbeat.ts_ms if heartbeat else None, attempts=attempts
    )


def _review(reader: Reader, name: str) -> dict[str, Any] | None:
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
