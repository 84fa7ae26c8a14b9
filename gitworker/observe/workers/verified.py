"""The last verdict of the verify commands on a worker's work, and the log of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.model.ids import Oid
from gitworker.observe.text import age_text
from gitworker.store.commits.verify_runs import find_failure_of_worker, read_verified_commits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitworker.store.api import Reader
    from gitworker.store.commits.verify_runs import VerifiedCommit
    from gitworker.store.workers import Worker

SHORT = 10


def read_verified(reader: Reader, worker: Worker, commits: Iterable[str]) -> VerifiedCommit | None:
    """Return the newest verdict on a worker's present task, or None.

    It is about one of these commits, or about a window of the landing queue that this work broke.
    """
    since_ms = worker.assigned_at_ms or 0
    found = list(read_verified_commits(reader, map(Oid, commits)).values())
    failure = find_failure_of_worker(reader, worker.worker_id, since_ms=since_ms)
    return max([*found, failure] if failure else found, key=lambda one: one.ts_ms, default=None)


def verified_lines(verified: VerifiedCommit | None, now_ms: int) -> Iterator[tuple[str, str]]:
    """Yield labels and texts: the verdict, and the path of the log."""
    if verified is None:
        return
    age = age_text(max(0, now_ms - verified.ts_ms))
    why = f": {verified.reason}" if verified.reason else ""
    yield "verify", f"{verified.verdict} {age} ago, {verified.commit_oid[:SHORT]}{why}"
    yield "log", verified.log


def json_verified(verified: VerifiedCommit | None) -> dict[str, Any] | None:
    """Return a verdict as JSON data."""
    if verified is None:
        return None
    return {
        "verdict": verified.verdict, "commit": verified.commit_oid, "reason": verified.reason,
        "log": verified.log, "at": clock.iso_utc(verified.ts_ms),
    }  # fmt: skip
