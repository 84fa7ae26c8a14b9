"""Workstreams as stored, and their tasks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.ids import Oid, Ref
from gitworker.model.task import TaskStatus
from gitworker.model.workstream import Member, WorkstreamState

if TYPE_CHECKING:
    from gitworker.store.api import Reader, Row, Writer


class Workstream(NamedTuple):
    """A workstream's row; `validation` has its own commands. The times are epoch milliseconds.

    `branch` is the one on which its tasks land, None for the target; `landed_oid` is the commit
    with which that branch landed on the target.
    """

    id: str
    title: str
    state: WorkstreamState
    version: int
    state_changed_at_ms: int
    validation: tuple[str, ...]
    created_at_ms: int | None
    started_at_ms: int | None
    ended_at_ms: int | None
    last_error: str
    archived_at_ms: int | None
    branch: Ref | None = None
    landed_oid: Oid | None = None

    @property
    def has_to_land(self) -> bool:
        """Return whether its branch has not landed on the target yet."""
        return self.branch is not None and self.landed_oid is None


class Share(NamedTuple):
    """The number of tasks of a workstream in one status."""

    status: TaskStatus
    critical: bool
    number: int


class StoredStep(NamedTuple):
    """A transition of a workstream."""

    ts_ms: int
    from_state: str
    event: str
    to_state: str
    actor: str


def insert_workstream(
    writer: Writer,
    name: str,
    *,
    title: str,
    validation: tuple[str, ...],
    now: int,
    branch: Ref | None = None,
) -> None:
    """Insert a planned workstream; a trigger refuses an id that exists."""
    writer.run(
        "workstreams.insert",
        id=name, title=title, validation=json.dumps(validation), now=now, branch=branch,
    )  # fmt: skip


def find_workstream(reader: Reader, name: str) -> Workstream | None:
    """Return a workstream, or None."""
    row = reader.row("workstreams.by_id", id=name)
    return None if row is None else _workstream(row)


def all_workstreams(reader: Reader) -> list[Workstream]:
    """Return every workstream, oldest first."""
    return [_workstream(row) for row in reader.rows("workstreams.all")]


def due_workstreams(reader: Reader) -> list[str]:
    """Return the workstreams with consequences that are not carried out yet."""
    return [row["id"] for row in reader.rows("workstreams.due")]


def set_due(writer: Writer, name: str) -> None:
    """Note that consequences are left to carry out."""
    writer.run("workstreams.set_due", id=name, due=1)


def settle_workstream(writer: Writer, name: str, *, version: int) -> None:
    """Note that the consequences of a version are carried out; a later one stays due."""
    writer.run("workstreams.settle", id=name, version=version)


def set_workstream_started(writer: Writer, name: str, *, now: int) -> None:
    """Record the start of the first task; the first record stays."""
    writer.run("workstreams.set_started", id=name, now=now)


def set_workstream_ended(writer: Writer, name: str, *, now: int) -> None:
    """Record the end."""
    writer.run("workstreams.set_ended", id=name, now=now)


def set_workstream_error(writer: Writer, name: str, error: str) -> None:
    """Record why a workstream failed, or could not be validated."""
    writer.run("workstreams.set_error", id=name, error=error)


def set_workstream_landed(writer: Writer, name: str, commit: Oid | None) -> None:
    """Record the commit with which a workstream's branch landed; None after an undo."""
    writer.run("workstreams.set_landed", id=name, commit=commit)


def open_branches(reader: Reader) -> dict[Ref, str]:
    """Return the workstreams whose branches have to land, by branch.

    One whose landing was undone is among them; the branch of one that has failed or was cancelled
    belongs to the user.
    """
    return {Ref(row["branch"]): row["id"] for row in reader.rows("workstreams.open_branches")}


def has_branches(reader: Reader) -> bool:
    """Return whether some tasks land on another branch than the target; it need not be open."""
    return reader.row("workstreams.has_branch") is not None


def find_branch_of_task(reader: Reader, task: str | None) -> Ref | None:
    """Return the branch on which a task lands, if it is that of a workstream."""
    row = reader.row("workstreams.branch_of_task", task=task)
    return None if row is None else row["branch"]


def find_crossing(reader: Reader, task: str) -> tuple[str, str] | None:
    """Return a dependency of a task, or on it, whose two tasks land on different branches.

    Work that landed on the target before a workstream was created is in the workstream's branch.
    """
    row = reader.row("workstreams.crossing", task=task)
    return None if row is None else (row["task"], row["other"])


def set_workstream_archived(writer: Writer, name: str, *, now: int | None) -> None:
    """Record that the archive was written; None: the workstream continues."""
    writer.run("workstreams.set_archived", id=name, now=now)


def shares_of(reader: Reader, name: str) -> list[Share]:
    """Return the number of a workstream's tasks by status."""
    return [
        Share(TaskStatus(row["status"]), bool(row["critical"]), int(row["number"]))
        for row in reader.rows("workstreams.shares", id=name)
    ]


def members_of(reader: Reader, name: str) -> list[Member]:
    """Return the tasks of a workstream in their order."""
    return [
        Member(**{**row, "status": TaskStatus(row["status"]), "critical": bool(row["critical"])})
        for row in reader.rows("workstreams.members", id=name)
    ]


def members_in(reader: Reader, name: str, status: TaskStatus) -> list[str]:
    """Return the ids of a workstream's tasks in one status."""
    rows = reader.rows("workstreams.in_status", id=name, status=status.value)
    return [row["id"] for row in rows]


def sums_of(reader: Reader, name: str) -> tuple[int, int]:
    """Return the retries and the tokens of a workstream's tasks."""
    row = reader.row("workstreams.sums", id=name)
    assert row is not None
    return int(row["retries"]), int(row["tokens"])


def find_open_task(reader: Reader, name: str) -> str | None:
    """Return the task that decides how a workstream goes on; None if all have ended."""
    row = reader.row("workstreams.open_task", id=name)
    return None if row is None else row["id"]


def set_member(writer: Writer, name: str | None, task: str) -> None:
    """Put a task into a workstream."""
    writer.run("workstreams.set_member", id=name, task=task)


def workstream_steps(reader: Reader, name: str) -> list[StoredStep]:
    """Return the transitions of a workstream, oldest first."""
    return [StoredStep(**row) for row in reader.rows("workstreams.transitions", id=name)]


def _workstream(row: Row) -> Workstream:
    values = dict(row)
    values["state"] = WorkstreamState(values["state"])
    values["validation"] = tuple(json.loads(values["validation"]))
    return Workstream(**values)
