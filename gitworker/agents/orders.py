"""Orders to the supervisor of an agent: `cmd` messages, and the processes of other runs."""

from __future__ import annotations

from gitworker import proc
from gitworker.agents.rules import clipped
from gitworker.bus.blobs import find_blob
from gitworker.errors import GitWorkerError
from gitworker.liveness.origin import is_local, origin_of, this_origin

AT_ONCE = 50

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.store.api import Reader, Row, Store


class Order:
    """One `cmd` message: the command as sent, and `origin`: the sender with the reason."""

    __slots__ = ("command", "id", "origin", "seq")

    def __init__(self, *, seq: int, id: str, sender: str, command: object, reason: object) -> None:
        self.seq = seq
        self.id = id
        self.command = command
        why = clipped(reason)
        self.origin = f"{sender}: {why}" if why else sender


def read_orders(reader: Reader, paths: StatePaths, *, worker: str, after: int) -> list[Order]:
    """Return the orders to a worker's agent after a position, oldest first, at most 50."""
    rows = reader.rows("runs.orders", worker=worker, after=after, limit=AT_ONCE)
    return [_order(reader, paths, row) for row in rows]


def others_at_work(store: Store, run: int) -> frozenset[int]:
    """Return the agents and supervisors of this machine's other runs, which get their own orders.

    Return none while the bus cannot be read.
    """
    try:
        with store.read() as reader:
            rows = reader.rows("runs.open")
    except GitWorkerError:
        return frozenset()
    here = this_origin()
    pairs = [
        pair
        for row in rows
        if row["id"] != run and is_local(origin_of(row), here)
        for pair in (
            (row["pid"], row["pid_start"]),
            (row["supervisor_pid"], row["supervisor_start"]),
        )
    ]
    return frozenset(
        pid for pid, start in pairs if pid is not None and proc.find_start(pid) == start
    )


def _order(reader: Reader, paths: StatePaths, row: Row) -> Order:
    payload = row
    if row["payload_ref"] is not None:  # a long payload is in a file
        text = find_blob(paths.blobs, str(row["payload_ref"]))
        payload = reader.row("runs.long_order", text=text) or row
    return Order(
        seq=row["seq"], id=row["id"], sender=str(row["from_agent"]), command=payload["command"],
        reason=payload["reason"],
    )  # fmt: skip
