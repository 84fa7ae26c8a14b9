"""Orders to whoever watches over an agent: `cmd` messages, read, and who else has his own."""

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
    """One `cmd` message: the word of command as it stands there, and `told`: by whom, and why."""

    __slots__ = ("command", "id", "seq", "told")

    def __init__(self, *, seq: int, id: str, sender: str, command: object, reason: object) -> None:
        self.seq = seq
        self.id = id
        self.command = command
        why = clipped(reason)
        self.told = f"{sender}: {why}" if why else sender


def read_orders(reader: Reader, paths: StatePaths, *, worker: str, after: int) -> list[Order]:
    """Return what a seat's agent was ordered after a position, oldest first, some at a time."""
    rows = reader.rows("runs.orders", worker=worker, after=after, limit=AT_ONCE)
    return [_order(reader, paths, row) for row in rows]


def others_at_work(store: Store, run: int) -> frozenset[int]:
    """Return the agents and supervisors of this machine's other runs, which have orders too.

    Nobody where the bus cannot be read just now.
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
    said = row
    if row["payload_ref"] is not None:  # a long one lies in a file
        text = find_blob(paths.blobs, str(row["payload_ref"]))
        said = reader.row("runs.long_order", text=text) or row
    return Order(
        seq=row["seq"], id=row["id"], sender=str(row["from_agent"]), command=said["command"],
        reason=said["reason"],
    )  # fmt: skip
