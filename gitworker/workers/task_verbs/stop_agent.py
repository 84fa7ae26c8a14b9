"""Order the agent of a worker to stop; its work stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.bus.following.bell import notify_followers
from gitworker.bus.publish import Outgoing, publish
from gitworker.liveness.start_daemon import ensure_orphans_attended
from gitworker.model.message import STOP, MessageType

if TYPE_CHECKING:
    from gitworker.session import Session


def stop_agent(session: Session, worker: str, task: str | None, *, reason: str) -> None:
    """Send the order; its supervisor, or the heartbeat daemon without one, carries it out."""
    with session.store.write() as writer:
        order = Outgoing(
            MessageType.CMD, sender=session.actor, to=worker, correlation_id=task,
            payload={"command": STOP, "reason": reason},
        )  # fmt: skip
        publish(writer, order, now=clock.now_ms())
    notify_followers(session.paths.bell)
    ensure_orphans_attended(session.store, session.paths)
