"""The marks of reviewers as stored: the hunks that they have viewed, and their last look."""

import json
from collections.abc import Collection
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.store.api import Reader, Writer


class Look(NamedTuple):
    """The version that a reviewer saw before the newest one, and the time of the last look."""

    base: Oid
    tip: Oid
    looked_at_ms: int


def mark_viewed(writer: Writer, reviewer: str, hunk: str, *, path: str, now: int) -> None:
    """Record that a reviewer has viewed a hunk."""
    writer.run("marks.set", reviewer=reviewer, hunk=hunk, path=json.dumps(path), now=now)


def clear_viewed(writer: Writer, reviewer: str, hunk: str) -> None:
    """Record that a reviewer has to view a hunk again."""
    writer.run("marks.clear", reviewer=reviewer, hunk=hunk)


def viewed_among(reader: Reader, reviewer: str, hunks: Collection[str]) -> frozenset[str]:
    """Return the hunks among these that a reviewer has viewed."""
    rows = reader.rows("marks.of_reviewer", reviewer=reviewer, hunks=json.dumps(list(hunks)))
    return frozenset(row["hunk"] for row in rows)


def record_look(
    writer: Writer, reviewer: str, worker: str, task: str, *, base: Oid, tip: Oid, now: int
) -> None:
    """Record a look, with the version to compare the newest one with."""
    writer.run(
        "marks.set_look", reviewer=reviewer, worker=worker, task=task, base=base, tip=tip, now=now
    )


def find_look(reader: Reader, reviewer: str, worker: str, task: str | None) -> Look | None:
    """Return the last look of a reviewer, or None."""
    row = reader.row("marks.look", reviewer=reviewer, worker=worker, task=task)
    if row is None:
        return None
    return Look(row["base_oid"], row["tip_oid"], row["looked_at_ms"])
