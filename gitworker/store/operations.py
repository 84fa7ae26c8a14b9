"""The journal as stored: acts that span git and the database, written before their first step."""

from typing import Any, NamedTuple

from gitworker.store.api import Reader, Row, Writer

LAST = 2**63 - 1  # no id is higher


class Operation(NamedTuple):
    """One act. `data` holds what finishing it, rolling it back or undoing it needs."""

    id: int
    kind: str
    worker_id: str
    task_id: str
    status: str
    step: str
    actor: str
    created_at_ms: int
    updated_at_ms: int
    data: dict[str, Any]


def begin_operation(
    writer: Writer, kind: str, *, worker: str, task: str, actor: str, now: int, data: dict[str, Any]
) -> int:
    """Write the first row of an act and return its id."""
    writer.run(
        "operations.open",
        kind=kind, worker=worker, task=task, step="begun", data=_dumped(data), actor=actor,
        now=now,
    )  # fmt: skip
    row = writer.row("operations.last_id")
    assert row is not None
    return int(row["id"])


def advance_operation(
    writer: Writer, operation: int, *, step: str, data: dict[str, Any], now: int
) -> None:
    """Record that an act is about to take its next step."""
    writer.run("operations.update", id=operation, step=step, data=_dumped(data), now=now)


def close_operation(
    writer: Writer, operation: int, *, status: str, step: str, data: dict[str, Any], now: int
) -> None:
    """Record the end of an act: done, rolled_back or undone."""
    writer.run(
        "operations.close", id=operation, status=status, step=step, data=_dumped(data), now=now
    )


def unfinished_operations(reader: Reader) -> list[Operation]:
    """Return the acts that somebody began and nobody ended, oldest first."""
    return [_operation(row) for row in reader.rows("operations.unfinished")]


def begin_undo(
    writer: Writer, done: Operation, *, actor: str, now: int, **data: str | None
) -> Operation:
    """Write down that an act is about to be taken back, and return that journal."""
    number = begin_operation(
        writer, "undo", worker=done.worker_id, task=done.task_id, actor=actor, now=now,
        data={"undoes": done.id, **data},
    )  # fmt: skip
    operation = find_operation(writer, number)
    assert operation is not None
    return operation


def find_operation(reader: Reader, operation: int) -> Operation | None:
    """Return one act, or None."""
    row = reader.row("operations.by_id", id=operation)
    return None if row is None else _operation(row)


def find_last_operation(
    reader: Reader, kind: str, *, worker: str, task: str | None
) -> Operation | None:
    """Return the newest act of one kind on a worker's task, or None."""
    row = reader.row("operations.last_of_kind", kind=kind, worker=worker, task=task)
    return None if row is None else _operation(row)


def undoable_operations(reader: Reader, limit: int = 20, *, before: int = LAST) -> list[Operation]:
    """Return the finished acts that leave something to undo, newest first, older than `before`."""
    rows = reader.rows("operations.newest_done", limit=limit, before=before)
    return [_operation(row) for row in rows]


def window_of(reader: Reader, act: Operation) -> list[Operation]:
    """Return every landing that went by the same fast-forward as this one, in their order."""
    first = act.data.get("window") or act.id
    return [_operation(row) for row in reader.rows("takeback.window", first=first)]


def later_acts(reader: Reader, act: Operation) -> list[Operation]:
    """Return what was done to the same worker's task after an act and stands, newest first."""
    rows = reader.rows("takeback.later", id=act.id, worker=act.worker_id, task=act.task_id)
    return [_operation(row) for row in rows]


def _operation(row: Row) -> Operation:
    values = dict(row)
    values["data"] = _loaded(values["data"])
    return Operation(**values)


def _dumped(data: dict[str, Any]) -> str:
    import json  # 1 ms; every command looks for open acts, and most find none

    return json.dumps(data)


def _loaded(text: str) -> dict[str, Any]:
    import json

    data: dict[str, Any] = json.loads(text)
    return data
