"""The windows of the landing queue as stored."""

import json
from typing import Any, NamedTuple

from gitworker.model.ids import Ref
from gitworker.model.worker import WorkerState
from gitworker.store.api import Reader, Row, Writer


class Offer(NamedTuple):
    """What another machine needs to verify prefixes of a window.

    `ref` is the ref on the remote that has its commits, `key` the inputs of a run on the last one.
    """

    ref: Ref
    key: str


class QueueWindow(NamedTuple):
    """One window: its workers in order, the verdicts on its prefixes, and its outcome.

    Each of `workers` has `worker`, `task` and `commit`; each of `verdicts` has `prefix` (how many
    workers), `commit`, `passed`, `cached`, `flaky`, `reason`, `log` and `duration_ms`. `outcome` is
    None while it is open; `landed` is how many landed. `machine` verifies it in a fleet.
    """

    id: int
    base_oid: str
    tip_oid: str
    workers: list[dict[str, Any]]
    verdicts: list[dict[str, Any]]
    size: int
    landed: int
    outcome: str | None
    actor: str
    started_at_ms: int
    ended_at_ms: int | None
    machine: str | None
    offer: Offer | None


class WaitingWorker(NamedTuple):
    """A worker in the queue; `failures` counts its verifications and merges that failed."""

    worker_id: str
    task_id: str
    state_changed_at_ms: int
    priority: int
    failures: int


def open_window(
    writer: Writer,
    *,
    base: str,
    workers: list[dict[str, Any]],
    size: int,
    actor: str,
    machine: str | None,
    now: int,
) -> int:
    """Insert a window of a machine and return its id; close that of a killed queue as cut off.

    The caller holds the machine's queue lock.
    """
    writer.run("windows.end_cut_off", machine=machine, now=now)
    writer.run(
        "windows.open",
        base=base, tip=workers[-1]["commit"], workers=json.dumps(workers), size=size, actor=actor,
        machine=machine, now=now,
    )  # fmt: skip
    row = writer.row("windows.last_id")
    assert row is not None
    return int(row["id"])


def record_verdicts(writer: Writer, window: int, verdicts: list[dict[str, Any]]) -> None:
    """Record the verdicts on a window so far."""
    writer.run("windows.record_verdicts", id=window, verdicts=json.dumps(verdicts))


def close_window(
    writer: Writer,
    window: int,
    outcome: str,
    *,
    landed: int,
    verdicts: list[dict[str, Any]] | None,
    now: int,
) -> None:
    """Record the end of a window; if `verdicts` is None the recorded ones remain."""
    writer.run(
        "windows.close",
        id=window, outcome=outcome, landed=landed, now=now,
        verdicts=None if verdicts is None else json.dumps(verdicts),
    )  # fmt: skip


def offer_window(writer: Writer, window: int, offer: Offer | None) -> None:
    """Let other machines verify prefixes of a window; None: no longer."""
    text = None if offer is None else json.dumps(offer._asdict())
    writer.run("windows.offer", id=window, offer=text)


def offers_of_others(reader: Reader, machine: str) -> list[QueueWindow]:
    """Return the open windows that machines other than this one offer, oldest first."""
    found = reader.rows("windows.offered")
    return [_window(row) for row in found if row["machine"] != machine and not row["ended_at_ms"]]


def own_offers(reader: Reader, machine: str | None) -> list[QueueWindow]:
    """Return the windows, open or ended, that a machine offers, oldest first."""
    return [_window(row) for row in reader.rows("windows.offered") if row["machine"] == machine]


def workers_waiting(reader: Reader, state: WorkerState) -> list[WaitingWorker]:
    """Return the workers in a state, with the values that order the queue."""
    return [WaitingWorker(**row) for row in reader.rows("windows.waiting", state=state)]


def landing_order(reader: Reader, state: WorkerState) -> dict[str, set[str]]:
    """Return for each task in the queue the tasks that must land before it."""
    after: dict[str, set[str]] = {}
    for row in reader.rows("windows.dependencies", state=state):
        after.setdefault(row["task_id"], set()).add(row["depends_on"])
    return after


def newest_windows(reader: Reader, limit: int) -> list[QueueWindow]:
    """Return the newest windows, newest first."""
    return [_window(row) for row in reader.rows("windows.newest", limit=limit)]


def _window(row: Row) -> QueueWindow:
    values = dict(row)
    values["workers"] = json.loads(values["workers"])
    values["verdicts"] = json.loads(values["verdicts"])
    offer = values["offer"]
    values["offer"] = None if offer is None else Offer(**json.loads(offer))
    return QueueWindow(**values)
