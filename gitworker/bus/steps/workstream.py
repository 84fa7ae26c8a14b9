"""Move a workstream by its tasks: its state follows from theirs, in the same transaction.

The consequences (files, cancelled tasks, the final validation) need git and processes; a row that
is due waits for `workstreams.attend` to carry them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker import clock
from gitworker.bus.publish import Outgoing, publish
from gitworker.bus.steps.record import record_transition, transition_time
from gitworker.errors import Refused
from gitworker.model.message import MessageType
from gitworker.model.task import TaskStatus
from gitworker.model.workstream import WorkstreamEvent, WorkstreamState
from gitworker.states.log.log_event import EventType, build_log_event
from gitworker.states.workstream_machine import (
    ENDED,
    derive_workstream_state,
    derived_events,
    is_validating,
    workstream_transition,
)
from gitworker.store.operations import LAND, unfinished_operations
from gitworker.store.planning.workstreams import (
    Workstream,
    find_workstream,
    members_in,
    set_due,
    set_workstream_ended,
    set_workstream_started,
    shares_of,
    sums_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.store.api import Reader, Writer


def follow_tasks(writer: Writer, name: str, *, actor: str) -> None:
    """Bring a workstream into the state that its tasks imply, if the machine allows it.

    Raises Refused if a task is open while the branch lands: no task joins or starts again then.
    """
    found = find_workstream(writer, name)
    if found is None:
        return
    derived = derive_workstream_state(shares_of(writer, name))
    if not is_validating(derived):
        require_not_landing(writer, found)
    for event in derived_events(found.state, derived):
        found = move_workstream(writer, found, event, actor=actor)
    if found.state not in ENDED:  # its end is due once: a task that is opened again later stays
        set_due(writer, name)


def require_not_landing(reader: Reader, workstream: Workstream) -> None:
    """Raise Refused between the beginning of a branch's landing and its record."""
    if workstream.has_to_land and any(
        one.kind == LAND and one.task_id == workstream.id for one in unfinished_operations(reader)
    ):
        raise Refused(
            f"workstream {workstream.id} is landing now, so it and its tasks cannot change",
            f"git worker workstream show {workstream.id}",
            code="moved_on",
        )


def move_workstream(
    writer: Writer,
    workstream: Workstream,
    event: WorkstreamEvent,
    *,
    actor: str,
    metadata: Mapping[str, Any] | None = None,
) -> Workstream:
    """Fire an event on a workstream and return its new row; raise InvalidTransition if refused."""
    target = workstream_transition(workstream.state, event)
    now = transition_time(writer)
    if event is WorkstreamEvent.FIRST_TASK_STARTED:
        set_workstream_started(writer, workstream.id, now=now)
    if target in ENDED:
        set_workstream_ended(writer, workstream.id, now=now)
    facts = {**_facts(writer, workstream, target, now), "actor": actor, **(metadata or {})}
    line = build_log_event(
        EventType.WORKSTREAM, workstream.id, timestamp=clock.iso_utc(now),
        from_state=workstream.state, to_state=target, trigger=event, metadata=facts,
    )  # fmt: skip
    record_transition(
        writer, machine="workstream", entity=workstream.id, version=workstream.version + 1,
        states=(workstream.state, event, target), now=now, actor=actor, metadata=facts,
        lines=[line],
    )  # fmt: skip
    payload = {
        "workstream": workstream.id, "from": workstream.state, "to": target, "event": event,
        **(metadata or {}),
    }  # fmt: skip
    publish(writer, Outgoing(MessageType.STATE_CHANGE, sender=actor, payload=payload), now=now)
    set_due(writer, workstream.id)
    moved = find_workstream(writer, workstream.id)
    assert moved is not None, workstream.id
    return moved


def _facts(
    writer: Writer, workstream: Workstream, target: WorkstreamState, now: int
) -> dict[str, Any]:
    """Return the metrics of a step: counts, retries, tokens, and the time since its first task."""
    retries, tokens = sums_of(writer, workstream.id)
    counts: dict[str, int] = {}
    for share in shares_of(writer, workstream.id):
        counts[share.status] = counts.get(share.status, 0) + share.number
    facts: dict[str, Any] = {"tasks": counts, "retries": retries, "tokens": tokens}
    if workstream.started_at_ms is not None:
        facts["duration_seconds"] = (now - workstream.started_at_ms) / 1000
    if target in (WorkstreamState.VALIDATING, WorkstreamState.COMPLETED):
        facts["dropped"] = members_in(writer, workstream.id, TaskStatus.CANCELLED)
    return facts
