"""Order the agent of a worker to stop; its work stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.bus.message_ids import derived_id
from gitworker.bus.publish import Outgoing, publish
from gitworker.liveness.start_daemon import ensure_orphans_attended
from gitworker.model.message import STOP, MessageType
from gitworker.store.messages.mailbox import find_message
from gitworker.store.records.runs import find_latest_run

if TYPE_CHECKING:
    from gitworker.session import Session


def stop_agent(session: Session, worker: str, task: str | None, *, reason: str) -> None:
    """Send the order; its supervisor, or the heartbeat daemon without one, carries it out.

    A second order to the same run for the same reason is not sent.
    """
    with session.store.read() as reader:
        run = find_latest_run(reader, worker)
        order_id = derived_id(STOP, worker, str(run and run.id), reason)
        if find_message(reader, order_id) is not None:
            return
    with session.store.write() as writer:
        order = Outgoing(
            MessageType.CMD, sender=session.actor, to=worker, correlation_id=task,
            payload={"command": STOP, "reason": reason}, id=order_id,
        )  # fmt: skip
        publish(writer, order, now=clock.now_ms())
    notify_followers(session.paths.bell)
    ensure_orphans_attended(session.store, session.paths)
