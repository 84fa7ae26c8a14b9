"""The journal as stored: one row for each operation that changes git and the database."""

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gitworker.errors import Unavailable
from gitworker.model.ids import Oid
from gitworker.store.api import Reader, Row, Store, Writer

if TYPE_CHECKING:
    from gitworker.store.payloads.payload import Payload

LAND = "land"  # the kind of operation by which the branch of a workstream lands
LAST = 2**63 - 1  # no id is higher
P = TypeVar("P")


class Operation(NamedTuple):
    """One operation. `data` holds the facts that finishing it, rolling it back or undoing it needs.

    Each kind has its own class of data (`payloads`).
    """

    id: int
    kind: str
    worker_id: str
    task_id: str
    status: str
    step: str
    actor: str
    created_at_ms: int
    updated_at_ms: int
    data: "Payload"

    def payload(self, expected: type[P]) -> P:
        """Return the data as that class; raise Unavailable if the row could not be read."""
        if not isinstance(self.data, expected):
            raise Unavailable(
                f"the journal's row of {self.kind} {self.id} ({self.worker_id}) cannot be read",
                "git worker fsck",
                code="journal_broken",
            )
        return self.data


def begin_operation(
    writer: Writer, kind: str, *, worker: str, task: str, actor: str, now: int, data: "Payload"
) -> int:
    """Write the first row of an operation and return its id."""
    writer.run(
        "operations.open",
        kind=kind, worker=worker, task=task, step="begun", data=to_text(data), actor=actor,
        now=now,
    )  # fmt: skip
    row = writer.row("operations.last_id")
    assert row is not None
    return int(row["id"])


def advance_operation(
    writer: Writer, operation: int, *, step: str, data: "Payload", now: int
) -> None:
    """Record that an operation is about to take its next step."""
    writer.run("operations.update", id=operation, step=step, data=to_text(data), now=now)


def close_operation(
    writer: Writer, operation: int, *, status: str, step: str, data: "Payload", now: int
) -> None:
    """Record the end of an operation: done, rolled_back or undone."""
    writer.run(
        "operations.close", id=operation, status=status, step=step, data=to_text(data), now=now
    )


def unfinished_operations(reader: Reader) -> list[Operation]:
    """Return the operations that are still open, oldest first."""
    return [_operation(row) for row in reader.rows("operations.unfinished")]


def begin_undo(
    writer: Writer,
    done: Operation,
    *,
    actor: str,
    now: int,
    rescue: str | None = None,
    checkout: str | None = None,
) -> Operation:
    """Record that an operation is about to be undone, and return the operation that undoes it."""
    from gitworker.store.payloads.payload import UndoData

    number = begin_operation(
        writer, "undo", worker=done.worker_id, task=done.task_id, actor=actor, now=now,
        data=UndoData(done.id, rescue, checkout),
    )  # fmt: skip
    return load_operation(writer, number)


def find_operation(reader: Reader, operation: int) -> Operation | None:
    """Return one operation, or None."""
    row = reader.row("operations.by_id", id=operation)
    return None if row is None else _operation(row)


def load_operation(reader: Reader, operation: int) -> Operation:
    """Return an operation that was recorded; raise Unavailable if its row is missing."""
    found = find_operation(reader, operation)
    if found is None:
        raise Unavailable(
            f"the journal has no operation {operation}", "git worker fsck", code="journal_broken"
        )
    return found


def all_operations(reader: Reader) -> list[Operation]:
    """Return every operation, oldest first."""
    return [_operation(row) for row in reader.rows("fsck.operations")]


def replace_data(store: Store, operation: int, data: "Payload") -> None:
    """Replace the data of an operation, in a transaction of its own."""
    store.write_one("fsck.set_data", id=operation, data=to_text(data))


def find_last_operation(
    reader: Reader, kind: str, *, worker: str, task: str | None
) -> Operation | None:
    """Return the newest operation of one kind on a worker's task, or None."""
    row = reader.row("operations.last_of_kind", kind=kind, worker=worker, task=task)
    return None if row is None else _operation(row)


def last_operation_on(reader: Reader, kind: str, *, task: str) -> Operation | None:
    """Return the newest finished operation of one kind on a task, or None."""
    row = reader.row("operations.last_on_task", kind=kind, task=task)
    return None if row is None else _operation(row)


def last_operation_of(reader: Reader, worker: str) -> Operation | None:
    """Return the newest operation on a worker, or None."""
    row = reader.row("operations.last_of_worker", worker=worker)
    return None if row is None else _operation(row)


def last_removal_of(reader: Reader, worktree: str) -> Operation | None:
    """Return the newest operation that removed a worktree from a place, or None."""
    row = reader.row("operations.last_removal_of", worktree=worktree)
    return None if row is None else _operation(row)


def undoable_operations(reader: Reader, limit: int = 20, *, before: int = LAST) -> list[Operation]:
    """Return finished operations that leave something to undo and are older than `before`.

    The newest comes first.
    """
    rows = reader.rows("operations.newest_done", limit=limit, before=before)
    return [_operation(row) for row in rows]


def landings_of_window(reader: Reader, landing: Operation) -> list[Operation]:
    """Return the landings that moved the target together with this one, in their order.

    That of a workstream's branch moves it alone.
    """
    first = first_of_window(landing)
    landings = map(_operation, reader.rows("operations.of_kind", kind=landing.kind, first=first))
    return [one for one in landings if first_of_window(one) == first]


def first_of_window(operation: Operation) -> int:
    """Return the number of the first landing of a window; of another operation, its own number."""
    return getattr(operation.data, "window", None) or operation.id


def operations_on(reader: Reader, worker: str, task: str) -> list[Operation]:
    """Return every operation on a worker's task, newest first."""
    rows = reader.rows("operations.of_task", worker=worker, task=task)
    return [_operation(row) for row in rows]


def rescue_times(reader: Reader) -> dict[str, int]:
    """Return the creation time of each rescue ref that an operation names."""
    from gitworker.store.payloads.payload import rescue_of

    times: dict[str, int] = {}
    for one in all_operations(reader):
        ref, _ = rescue_of(one.data)
        if ref is not None:
            times[ref] = max(one.updated_at_ms, times.get(ref, 0))
    return times


def rewritten_commits(reader: Reader) -> dict[Oid, list[Oid]]:
    """Return for each commit that our replays made the commits that it replaced."""
    from gitworker.store.payloads.payload import ApproveData, MergeData

    pairs = [(row["new"], row["old"]) for row in reader.rows("operations.rewrites")]
    for one in all_operations(reader):
        if isinstance(one.data, ApproveData | MergeData) and one.status in ("done", "undone"):
            pairs.append((one.data.new, one.data.old))
    replaced: dict[Oid, list[Oid]] = {}
    for new, old in pairs:
        replaced.setdefault(Oid(new), []).append(Oid(old))
    return replaced


def _operation(row: Row) -> Operation:
    from gitworker.store.payloads.payload import from_text  # 2 ms, if there is one

    values = dict(row)
    values["data"] = from_text(values["kind"], values["data"])
    return Operation(**values)


def to_text(data: "Payload") -> str:
    """Return a payload as the column stores it; a damaged one stays as it was."""
    import json  # 1 ms; most commands begin no operation

    text = getattr(data, "text", None)  # of `Unreadable`
    if text is not None:
        return str(text)
    return json.dumps(
        {
            name: value._asdict() if hasattr(value, "_asdict") else value
            for name, value in data._asdict().items()
        }
    )
