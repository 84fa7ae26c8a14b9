"""Orders to the supervisor of an agent: `cmd` messages, and the processes of other runs."""

from __future__ import annotations

from gitworker.agents.rules_run import clipped
from gitworker.bus.blobs import find_blob
from gitworker.errors import GitWorkerError
from gitworker.liveness.process_origin import is_local, origin_of, this_origin
from gitworker.processes.table import find_start
from gitworker.store.records.runs import open_runs, orders_after

AT_ONCE = 50

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.paths import StatePaths
    from gitworker.store.api import Reader, Store
    from gitworker.store.records.runs import StoredOrder


class Order:
    """One `cmd` message: the command as sent, and `origin`: the sender with the reason.

    `pauses`: the task of an agent that is stopped is paused, as by a budget, and not BLOCKED.
    """

    __slots__ = ("command", "id", "origin", "pauses", "seq")

    def __init__(
        self,
        *,
        seq: int,
        id: str,
        sender: str,
        command: object,
        reason: object,
        pauses: bool = False,
    ) -> None:
        self.seq = seq
        self.id = id
        self.command = command
        self.pauses = pauses
        why = clipped(reason)
        self.origin = f"{sender}: {why}" if why else sender


def read_orders(reader: Reader, paths: StatePaths, *, worker: str, after: int) -> list[Order]:
    """Return the orders to a worker's agent after a position, oldest first, at most 50."""
    stored = orders_after(reader, worker, after, limit=AT_ONCE)
    return [_order(paths, one) for one in stored]


def others_at_work(store: Store, run: int) -> frozenset[int]:
    """Return the agents and supervisors of this machine's other runs, which get their own orders.

    Return none while the bus cannot be read.
    """
    try:
        with store.read() as reader:
            runs = open_runs(reader)
    except GitWorkerError:
        return frozenset()
    here = this_origin()
    pairs = [
        pair
        for one in runs
        if one.id != run and is_local(origin_of(one), here)
        for pair in (
            (one.pid, one.pid_start),
            (one.supervisor_pid, one.supervisor_start),
        )
    ]
    return frozenset(pid for pid, start in pairs if pid is not None and find_start(pid) == start)


def _order(paths: StatePaths, stored: StoredOrder) -> Order:
    from gitworker.bus.following.message_fields import read_json  # 5 ms, if there is an order

    text = stored.payload
    if stored.payload_ref is not None:  # a long payload is in a file
        text = find_blob(paths.blobs, stored.payload_ref)
    try:
        found = read_json(text or "null")
    except (ValueError, RecursionError):
        found = None
    facts = found if isinstance(found, dict) else {}
    command = facts.get("command")
    return Order(
        seq=stored.seq, id=stored.id, sender=stored.from_agent,
        command=facts.get("action") if command is None else command, reason=facts.get("reason"),
        pauses=facts.get("pauses") is True,
    )  # fmt: skip
