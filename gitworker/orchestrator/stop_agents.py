"""Stop the agents of a run before its end, so that the next run continues their tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.bus.publish import Outgoing, publish
from gitworker.bus.transitions import move_task
from gitworker.liveness.start_daemon import ensure_orphans_attended
from gitworker.model.ids import ORCHESTRATOR
from gitworker.model.message import STOP, MessageType
from gitworker.model.task import TaskEvent
from gitworker.orchestrator.facts import Picture
from gitworker.store.tasks import blocked_with, require_stored_task

if TYPE_CHECKING:
    from gitworker.session import Session

WHY = "the run was interrupted"
STOPPED = f"stopped by {ORCHESTRATOR}: {WHY}"


def stop_agents(
    session: Session, picture: Picture, *, why: str = WHY, pauses: bool = False
) -> None:
    """Order all living agents of a run to stop; their work stays.

    `pauses`: their tasks are paused, not BLOCKED, and continue their sessions in the next run.
    """
    with session.store.write() as writer:
        for name, slot in picture.slots.items():
            if slot.facts.lives:
                payload = {"command": STOP, "reason": why, **({"pauses": True} if pauses else {})}
                order = Outgoing(
                    MessageType.CMD, sender=ORCHESTRATOR, to=name,
                    correlation_id=slot.worker.task_id, payload=payload,
                )  # fmt: skip
                publish(writer, order, now=clock.now_ms())
    notify_followers(session.paths.bell)
    ensure_orphans_attended(session.store, session.paths)


def restart_stopped(session: Session) -> None:
    """Make the tasks READY again that an interrupted run has stopped; their workers keep them."""
    with session.store.read() as reader:
        if not blocked_with(reader, STOPPED):
            return
    with session.store.write() as writer:
        for task in blocked_with(writer, STOPPED):
            move_task(
                writer, require_stored_task(writer, task), (TaskEvent.ADMIN_RESTART,),
                actor=ORCHESTRATOR,
            )  # fmt: skip
