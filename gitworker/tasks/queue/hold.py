"""task hold and task release: keep a task in the queue from being started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.store.records.task_queue import set_held
from gitworker.tasks.queue.add_task import TaskInQueue, in_queue, require_task
from gitworker.tasks.queue.rules_needs import hold_refusal

if TYPE_CHECKING:
    from gitworker.session import Session


def hold(session: Session, task: str, *, held: bool) -> TaskInQueue:
    """Hold a task back until it is released, or release it; harmless if that is so already.

    A task at work continues, and is not started again. Raises NotFound for an unknown task, Refused
    for one that has ended.
    """
    with session.store.write() as writer:
        stored = require_task(writer, task)
        refusal = hold_refusal(task, stored.status) if held else None
        if refusal is not None:
            raise refusal
        set_held(writer, task, held=held)
        return in_queue(writer, task)
