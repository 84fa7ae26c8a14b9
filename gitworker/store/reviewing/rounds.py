"""Rounds of review as stored: one row for each hand-in."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from gitworker.model.ids import Oid
from gitworker.store.api import Reader, Row, Writer


class RoundCommit(NamedTuple):
    """One commit of a round."""

    commit: Oid
    patch: str
    author: str
    message: str


class Round(NamedTuple):
    """One hand-in: the commits from `base` to `tip`, oldest first; `number` counts from 1."""

    number: int
    base: Oid
    tip: Oid
    commits: tuple[RoundCommit, ...]
    created_at_ms: int


def add_round(
    writer: Writer,
    worker: str,
    task: str,
    *,
    base: Oid,
    tip: Oid,
    commits: Sequence[RoundCommit],
    now: int,
) -> Round:
    """Return the newest round of a task; insert one unless it has this base and tip already."""
    newest = find_newest_round(writer, worker, task)
    if newest is None or (newest.base, newest.tip) != (base, tip):
        writer.run(
            "rounds.insert",
            worker=worker, task=task, base=base, tip=tip, commits=json.dumps(commits), now=now,
        )  # fmt: skip
        newest = find_newest_round(writer, worker, task)
    assert newest is not None
    return newest


def find_newest_round(reader: Reader, worker: str, task: str | None) -> Round | None:
    """Return the last hand-in of a worker's task, or None."""
    row = reader.row("rounds.newest", worker=worker, task=task)
    return None if row is None else _round(row)


def rounds_of(reader: Reader, worker: str, task: str | None) -> list[Round]:
    """Return the hand-ins of a worker's task, oldest first."""
    return [_round(row) for row in reader.rows("rounds.of_task", worker=worker, task=task)]


def _round(row: Row) -> Round:
    commits = tuple(RoundCommit(*one) for one in json.loads(row["commits"]))
    return Round(row["number"], row["base_oid"], row["tip_oid"], commits, row["created_at_ms"])
