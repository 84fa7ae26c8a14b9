"""Reviews as stored: one row for each request and each verdict on a worker's task."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.store.api import Reader, Writer


class Review(NamedTuple):
    """One request or verdict; `patches` identifies the reviewed commits."""

    id: int
    worker_id: str
    task_id: str
    verdict: str
    reviewer: str
    identity: str
    commit_oid: str
    base_oid: str
    patches: list[str]
    note: str
    ts_ms: int


def record_review(
    writer: Writer,
    worker: str,
    task: str | None,
    *,
    verdict: str,
    commit: str,
    identity: str,
    now: int,
    base: str = "",
    reviewer: str = "",
    patches: Sequence[str] = (),
    note: str = "",
) -> None:
    """Record a request or a verdict on a commit; `identity` is the caller's."""
    writer.run(
        "reviews.insert",
        worker=worker, task=task, verdict=verdict, reviewer=reviewer, identity=identity,
        commit_oid=commit, base_oid=base, patches=json.dumps(patches), note=note, now=now,
    )  # fmt: skip


def seen_commits(reader: Reader, worker: str, task: str | None) -> tuple[Oid, ...]:
    """Return the commits of a worker's task that were handed in or approved, newest first."""
    rows = reader.rows("reviews.seen", worker=worker, task=task)
    return tuple(Oid(row["commit_oid"]) for row in rows)


def find_review(
    reader: Reader, worker: str, task: str | None, verdict: str | None = None
) -> Review | None:
    """Return the newest row of a worker's task, with this verdict if it is given, or None."""
    if verdict is None:
        row = reader.row("reviews.latest", worker=worker, task=task)
    else:
        row = reader.row("reviews.latest_verdict", worker=worker, task=task, verdict=verdict)
    return None if row is None else Review(**{**row, "patches": json.loads(row["patches"])})
