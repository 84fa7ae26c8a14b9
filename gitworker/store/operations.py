"""The journal as stored: operations on git and the database, written before their first step."""

from typing import Any, NamedTuple

from gitworker.store.api import Reader, Row, Writer

LAST = 2**63 - 1  # the highest possible id


class Operation(NamedTuple):
    """One operation. `data` holds the facts to finish it, roll it back or undo it."""

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
    """Insert the row of an operation and return its id."""
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
    """Record that an operation is about to take its next step."""
    writer.run("operations.update", id=operation, step=step, data=_dumped(data), now=now)


def close_operation(
    writer: Writer, operation: int, *, status: str, step: str, data: dict[str, Any], now: int
) -> None:
    """Record the end of an operation: done, rolled_back or undone."""
    writer.run(
        "operations.close", id=operation, status=status, step=step, data=_dumped(data), now=now
    )


def unfinished_operations(reader: Reader) -> list[Operation]:
    """Return the operations that have begun and not ended, oldest first."""
    return [_operation(row) for row in reader.rows("operations.unfinished")]


def begin_undo(
    writer: Writer, done: Operation, *, actor: str, now: int, **data: str | None
) -> Operation:
    """Insert an operation that undoes another, and return it."""
    number = begin_operation(
        writer, "undo", worker=done.worker_id, task=done.task_id, actor=actor, now=now,
        data={"undoes": done.id, **data},
    )  # fmt: skip
    operation = find_operation(writer, number)
    assert operation is not None
    return operation


def find_operation(reader: Reader, operation: int) -> Operation | None:
    """Return one operation, or None."""
    row = reader.row("operations.by_id", id=operation)
    return None if row is None else _operation(row)


def find_last_operation(
    reader: Reader, kind: str, *, worker: str, task: str | None
) -> Operation | None:
    """Return the newest operation of one kind on a worker's task, or None."""
    row = reader.row("operations.last_of_kind", kind=kind, worker=worker, task=task)
    return None if row is None else _operation(row)


def undoable_operations(reader: Reader, limit: int = 20, *, before: int = LAST) -> list[Operation]:
    """Return finished operations that can be undone, newest first, with ids below `before`."""
    rows = reader.rows("operations.newest_done", limit=limit, before=before)
    return [_operation(row) for row in rows]


def window_of(reader: Reader, operation: Operation) -> list[Operation]:
    """Return every landing of the same fast-forward as this one, in their order."""
    first = operation.data.get("window") or operation.id
    return [_operation(row) for row in reader.rows("takeback.window", first=first)]


def later_acts(reader: Reader, operation: Operation) -> list[Operation]:
    """Return later operations on the same worker's task that were not undone, newest first."""
    rows = reader.rows(
        "takeback.later", id=operation.id, worker=operation.worker_id, task=operation.task_id
    )
    return [_operation(row) for row in rows]


def _operation(row: Row) -> Operation:
    values = dict(row)
    values["data"] = _loaded(values["data"])
    return Operation(**values)


def _dumped(data: dict[str, Any]) -> str:
    import json  # 1 ms; every command looks for open operations, and most find none

    return json.dumps(data)


def _loaded(text: str) -> dict[str, Any]:
    import json

    data: dict[str, Any] = json.loads(text)
    return data
