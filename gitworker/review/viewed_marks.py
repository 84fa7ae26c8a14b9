"""Viewed marks: a reviewer marks hunks; a mark is valid for exactly that hunk."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.errors import NotFound
from gitworker.review.comments.draft import require_reviewable
from gitworker.review.patch import read_patch
from gitworker.review.rounds import require_seen
from gitworker.review.rules_viewed import choose
from gitworker.store.reviewing.marks import clear_viewed, mark_viewed, viewed_among

if TYPE_CHECKING:
    from gitworker.session import Session


@dataclass(frozen=True, slots=True)
class ViewedMarks:
    """The hunks of a round that are viewed now, and how many it has; `changed` were named."""

    worker: str
    round: int
    changed: int
    viewed: int
    total: int


def view(
    session: Session,
    name: str,
    chosen: str | None = None,
    *,
    clear: bool = False,
    at: str | None = None,
) -> ViewedMarks:
    """Mark the hunks of the newest round as viewed, or clear the marks.

    `chosen` is a file, or the beginning of a hunk's id; None chooses all hunks. `at` is the tip of
    the round that the reviewer has seen. Raises NotFound for a name without hunks, Invalid for the
    beginning of several ids, Conflict if another round is the newest.
    """
    worker = require_reviewable(session, name)
    found = require_seen(session, worker, at)
    files = read_patch(session.git, found.base, found.tip)
    hunks = choose(files, chosen, worker=worker.worker_id)
    if not hunks:
        raise NotFound(
            f"round {found.number} of {worker.worker_id} has no file or hunk {ascii(chosen)[:80]}",
            f"git worker review {worker.worker_id}",
        )
    reviewer, now = session.actor, clock.now_ms()
    with session.store.write() as writer:
        for id, path in hunks.items():
            if clear:
                clear_viewed(writer, reviewer, id)
            else:
                mark_viewed(writer, reviewer, id, path=path, now=now)
        ids = [id for one in files for id in one.ids]
        viewed = viewed_among(writer, reviewer, ids)
    return ViewedMarks(worker.worker_id, found.number, len(hunks), len(viewed), len(ids))


def json_marks(found: ViewedMarks) -> dict[str, Any]:
    """Return the marks of a round as JSON data."""
    return asdict(found)
