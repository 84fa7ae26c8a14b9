"""The machines of a fleet as stored, and what this one has followed of the others' changes."""

import json
from typing import NamedTuple

from gitworker import clock
from gitworker.store.api import Reader, Store, Writer

LEASE_MS = 30_000  # a machine that has not reported for so long is silent


class StoredMachine(NamedTuple):
    """A machine; times are milliseconds of the server's clock. `workers` counts its workers.

    `capabilities` are what its agents can use there. `lands`: a run there lands its own work.
    `needs_from` is the first message that its agents may not have read, as it last recorded.
    """

    id: str
    host: str
    version: str
    seen_at_ms: int
    lease_until_ms: int
    left_at_ms: int | None
    capabilities: tuple[str, ...]
    lands: bool
    needs_from: int
    workers: int


def all_machines(reader: Reader) -> list[StoredMachine]:
    """Return every machine, in the order in which they joined."""
    return [
        StoredMachine(**row)._replace(
            capabilities=tuple(json.loads(row["capabilities"])), lands=bool(row["lands"])
        )
        for row in reader.rows("fleet.machines")
    ]


def silent_machines(reader: Reader) -> dict[str, int]:
    """Return the machines whose lease has ended, and for how many milliseconds they were silent.

    By the server's clock, up to the last report of any machine, and only since this one listens.
    """
    rows = all_machines(reader)
    now = max((one.seen_at_ms for one in rows), default=0)
    row = reader.row("fleet.returned")
    since = int(row["ms"]) if row else 0
    return {
        one.id: max(0, now - max(one.seen_at_ms, since))
        for one in rows
        if one.left_at_ms is None and one.lease_until_ms <= now
    }


def other_machines(reader: Reader, machine: str, *, since_ms: int) -> list[StoredMachine]:
    """Return the machines, except one, that have not left and have reported since a time."""
    return [
        one
        for one in all_machines(reader)
        if one.id != machine and one.left_at_ms is None and one.seen_at_ms >= since_ms
    ]


def landing_machines(reader: Reader) -> frozenset[str]:
    """Return the machines with a lease on which a run lands its work."""
    silent = silent_machines(reader)
    return frozenset(one.id for one in all_machines(reader) if one.lands and one.id not in silent)


def place_in_fleet(reader: Reader, machine: str | None) -> tuple[int, int]:
    """Return a machine's number among those that have not left, from 1 on, and how many they are.

    Returns 1 of 1 in a repository of its own.
    """
    if machine is None:
        return 1, 1
    names = [one.id for one in all_machines(reader) if one.left_at_ms is None]
    return (names.index(machine) + 1, len(names)) if machine in names else (1, 1)


def count_waiting(reader: Reader) -> int:
    """Return how many messages the link has to publish."""
    row = reader.row("fleet.count_waiting")
    return int(row["number"]) if row else 0


def forget_sessions(writer: Writer, worker: str, task: str | None) -> None:
    """Forget the sessions of a worker's agents: they are on the machine where they ran."""
    writer.run("fleet.forget_sessions", worker=worker, task=task)


class PutOffHandIn(NamedTuple):
    """A hand-in that was made while the fleet could not be reached."""

    worker_id: str
    task_id: str
    note: str
    pr_url: str | None
    created_at_ms: int


def put_off_hand_in(store: Store, one: PutOffHandIn) -> None:
    """Record a hand-in until the fleet can be reached."""
    with store.write_own() as writer:
        writer.run(
            "fleet.put_off",
            worker=one.worker_id, task=one.task_id, note=one.note, pr_url=one.pr_url,
            now=one.created_at_ms,
        )  # fmt: skip


def put_off_hand_ins(reader: Reader) -> list[PutOffHandIn]:
    """Return the hand-ins that wait for the fleet, oldest first."""
    return [PutOffHandIn(**row) for row in reader.rows("fleet.hand_ins")]


def forget_hand_in(store: Store, one: PutOffHandIn) -> None:
    """Forget a hand-in that has been made, or was refused; a later one of its worker stays."""
    with store.write_own() as writer:
        writer.run("fleet.forget_hand_in", worker=one.worker_id, created_at_ms=one.created_at_ms)


def find_followed(reader: Reader) -> int:
    """Return the position of the last transition that this machine has followed."""
    row = reader.row("fleet.followed")
    return int(row["seq"]) if row else 0


def set_followed(store: Store, seq: int) -> None:
    """Record the position of the last transition that this machine has followed."""
    store.write_one("fleet.set_followed", durable=False, seq=str(seq))


def set_push_failure(store: Store, text: str) -> None:
    """Record why this machine could not push commits; empty once it could."""
    if text != find_push_failure(store):
        store.write_one("fleet.set_push_failure", durable=False, text=text)


def find_push_failure(reader: Reader) -> str:
    """Return why this machine could not push commits; empty if it could."""
    row = reader.row("fleet.push_failure")
    return str(row["value"]) if row else ""


def changed_workers(reader: Reader, after: int) -> tuple[int, list[str]]:
    """Return the position of the last transition, and the workers that changed after a position."""
    newest = reader.row("fleet.newest_transition")
    until = max(after, int(newest["seq"] or 0)) if newest else after
    rows = reader.rows("fleet.changed_workers", after=after)
    return until, [str(row["worker_id"]) for row in rows]


def not_followed(reader: Reader) -> frozenset[str]:
    """Return the workers that others have changed and this machine has not followed yet."""
    return frozenset(changed_workers(reader, find_followed(reader))[1])


def find_open_worker(reader: Reader, machine: str | None = None) -> str | None:
    """Return a worker whose task has not landed, of one machine or of any; None without one."""
    row = reader.row("fleet.open_workers", machine=machine)
    return None if row is None else str(row["worker_id"])


def find_open_task(reader: Reader) -> str | None:
    """Return a task that has not ended, or None."""
    row = reader.row("fleet.open_tasks")
    return None if row is None else str(row["id"])


def set_capabilities(writer: Writer, machine: str, capabilities: tuple[str, ...]) -> None:
    """Record what the agents of a machine can use there."""
    writer.run("fleet.set_capabilities", machine=machine, capabilities=json.dumps(capabilities))


def set_need(store: Store, machine: str, seq: int) -> None:
    """Record the first message that agents of a machine may not have read, if it has changed."""
    with store.read() as reader:
        is_known = any(one.id == machine and one.needs_from == seq for one in all_machines(reader))
    if not is_known:
        store.write_one("fleet.set_need", durable=False, machine=machine, seq=seq)


def lower_need(writer: Writer, machine: str, seq: int) -> None:
    """Record an earlier first message that agents of a machine may not have read."""
    writer.run("fleet.lower_need", machine=machine, seq=seq)


def set_lands(writer: Writer, machine: str, *, lands: bool) -> None:
    """Record whether a run of a machine lands its work."""
    writer.run("fleet.set_lands", machine=machine, lands=int(lands))


def record_leave(writer: Writer, machine: str, *, now: int) -> None:
    """Record that a machine has left."""
    writer.run("fleet.leave", machine=machine, now=now)


def hold_open_tasks(writer: Writer) -> None:
    """Hold all open tasks."""
    writer.run("fleet.hold_open_tasks")


def forget_machines(writer: Writer) -> None:
    """Forget all machines, also those of workers, agents and windows, after leaving the fleet.

    The next fleet must not get them as members of its own.
    """
    writer.run("fleet.forget_machines")
    writer.run("fleet.forget_pins")
    writer.run("fleet.forget_windows")
    writer.run("fleet.drop_machines")


class OwnHeartbeat(NamedTuple):
    """The last heartbeat of a worker of this machine."""

    agent_id: str
    ts_ms: int
    status: str
    current_task: str | None
    progress: float | None
    mono_ms: int | None
    boot_id: str | None


def own_heartbeats(reader: Reader, machine: str) -> list[OwnHeartbeat]:
    """Return the last heartbeats of the workers whose worktrees are on a machine."""
    return [OwnHeartbeat(**row) for row in reader.rows("fleet.heartbeats", machine=machine)]


def last_reports(reader: Reader, machine: str, *, now: int) -> list[tuple[str, int]]:
    """Return the last reports of the other machines with a lease, and when they were made."""
    rows = reader.rows("fleet.last_reports", machine=machine, now=now)
    return [(str(row["heartbeats"]), int(row["seen_at_ms"])) for row in rows]


def record_report(
    writer: Writer,
    machine: str,
    *,
    now: int,
    lease_ms: int,
    heartbeats: str,
    position: int,
    lands: bool,
) -> None:
    """Extend the lease of a machine, with the heartbeats of its workers and its position.

    `lands`: a run there lands its work. If its lease had ended, it has not heard of the others, and
    begins to count their silence.
    """
    writer.run("fleet.note_return", machine=machine, now=now)
    writer.run(
        "fleet.report",
        machine=machine, now=now, lease_until_ms=now + lease_ms, heartbeats=heartbeats,
        position=position, lands=int(lands),
    )  # fmt: skip


def record_foreign_heartbeat(
    writer: Writer,
    agent: str,
    *,
    age_ms: int,
    status: str,
    task: str | None,
    progress: float | None,
) -> None:
    """Record the heartbeat of a worker on another machine by the clocks of this one."""
    now = clock.now_ms() - age_ms
    writer.run("liveness.beat", agent=agent, now=now, status=status, task=task, progress=progress)
    writer.run(
        "liveness.beat_clock", agent=agent, now=now, mono_ms=clock.monotonic_ms() - age_ms,
        boot_id=clock.boot_id(), host=clock.host_name(),
    )  # fmt: skip


def has_outgoing(reader: Reader) -> bool:
    """Return whether the outbox has messages."""
    return reader.row("fleet.waiting") is not None


def publish_outgoing(writer: Writer, *, limit: int) -> None:
    """Move the oldest messages of the outbox to the bus."""
    for row in writer.rows("fleet.outbox", limit=limit):
        values = dict(row)
        number = values.pop("number")
        writer.run("messages.publish", **values)
        writer.run("fleet.take", number=number)
