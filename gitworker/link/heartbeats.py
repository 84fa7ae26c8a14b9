"""Heartbeats between machines: one row per machine, which carries those of all its workers.

A heartbeat arrives with its age. The replica records it by this machine's clocks, so no machine
needs the time of another.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.bus.files.retention import own_floor
from gitworker.store.claims import renew_claims
from gitworker.store.fleet.machines import (
    LEASE_MS,
    last_reports,
    lower_need,
    own_heartbeats,
    record_foreign_heartbeat,
    record_report,
)
from gitworker.store.messages.upkeep import find_last_upkeep
from gitworker.store.workers import find_worker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitworker.store.api import Reader, Writer
    from gitworker.store.fleet.link_replica import LinkReplica
    from gitworker.store.fleet.replica import LogEntry

CLAIM_MS = 60_000


def report_machine(
    writer: Writer, machine: str, *, position: int, now_ms: int, lands: bool
) -> None:
    """Extend the lease of this machine, with the heartbeats of its workers.

    The daily job records which messages agents here may still read; one that has read since may
    need earlier ones, as it has just begun.
    """
    floor = own_floor(writer, living=frozenset(), since_ms=find_last_upkeep(writer) or 0)
    lower_need(writer, machine, floor.seq)
    record_report(
        writer, machine, now=now_ms, lease_ms=LEASE_MS, position=position, lands=lands,
        heartbeats=json.dumps(_own_heartbeats(writer, machine)),
    )  # fmt: skip


def _own_heartbeats(reader: Reader, machine: str) -> list[list[Any]]:
    """Return agent, status, task, progress and age of each worker of this machine."""
    now, mono, boot = clock.now_ms(), clock.monotonic_ms(), clock.boot_id()
    return [
        [
            one.agent_id, one.status, one.current_task, one.progress,
            max(0, now - one.ts_ms)
            if one.mono_ms is None or one.boot_id != boot
            else mono - one.mono_ms,
        ]
        for one in own_heartbeats(reader, machine)
    ]  # fmt: skip


def receive_heartbeats(replica: LinkReplica, entries: Iterable[LogEntry]) -> None:
    """Record the heartbeats that other machines have reported, the last report of each.

    A machine that changes its worker's state gives a sign of its life, too.
    """
    reports: dict[Any, str] = {}
    moved: dict[str, str] = {}
    for entry in entries:
        for change in entry.shared:
            if change.table == "workers" and "state" in change.values:
                moved[str(change.key["worker_id"])] = entry.machine
            text = change.values.get("heartbeats")
            if change.table == "machines" and isinstance(text, str):
                reports[change.key["id"]] = text
    if not (reports or moved):
        return
    with replica.unguarded_write() as writer:
        for name, machine in moved.items():
            worker = find_worker(writer, name)
            if worker is not None and worker.elsewhere == machine:
                record_foreign_heartbeat(
                    writer, name, age_ms=0, status="working", task=worker.task_id, progress=None
                )
        for text in reports.values():
            _record(writer, text)


def receive_last_reports(replica: LinkReplica, now_ms: int) -> None:
    """Record what the other machines with a lease have reported last, by the server's time.

    After all rows were read again: the heartbeats of others are those from before.
    """
    with replica.unguarded_write() as writer:
        for text, seen_at_ms in last_reports(writer, replica.machine, now=now_ms):
            _record(writer, text, older_ms=max(0, now_ms - seen_at_ms))


def _record(writer: Writer, text: str, *, older_ms: int = 0) -> None:
    """Record the heartbeats of a report that is so old."""
    for agent, status, task, progress, age_ms in json.loads(text):
        age_ms += older_ms
        record_foreign_heartbeat(
            writer, agent, age_ms=age_ms, status=status, task=task, progress=progress
        )
        if age_ms < CLAIM_MS:
            renew_claims(writer, agent)
