"""Carry out the consequences of workstreams: files, cancelled and dropped tasks, archives.

Each step can be repeated, so that a killed command or a second one at the same time does no harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.errors import GitWorkerError
from gitworker.progress import Notice
from gitworker.states.workstream_machine import ENDED, derive_workstream_state, is_validating
from gitworker.store.planning.workstreams import (
    due_workstreams,
    members_of,
    set_workstream_archived,
    settle_workstream,
    shares_of,
)
from gitworker.store.workers import find_worker_of_task
from gitworker.tasks.queue.join import require_workstream
from gitworker.workers.task_verbs.change import cancel_task, has_open_run
from gitworker.workers.task_verbs.stop_agent import stop_agent
from gitworker.workstreams.files import write_archive, write_files
from gitworker.workstreams.rules_workstream import (
    STOPPED_BY,
    tasks_to_cancel,
    tasks_to_drop,
)

if TYPE_CHECKING:
    from gitworker.session import Session


def attend(session: Session) -> list[str]:
    """Carry out what workstreams have left to do; return those that are to be validated.

    A task that cannot be cancelled now is reported, and is tried again by the next call.
    """
    with session.store.read() as reader:
        due = due_workstreams(reader)
    return [name for name in due if _attend(session, name)]


def _attend(session: Session, name: str) -> bool:
    """Carry out the consequences of one workstream; return whether it is to be validated."""
    with session.store.read() as reader:
        stored = require_workstream(reader, name)
        members = members_of(reader, name)
        derived = derive_workstream_state(shares_of(reader, name))
    if is_validating(stored.state):  # a task that joined to repair its branch may be open
        return is_validating(derived)
    if stored.state not in ENDED:
        write_files(session, name)
    ended = [
        _end(session, task, reason=STOPPED_BY.get(stored.state, ""))
        for task in (
            *tasks_to_cancel(stored.state, members), *tasks_to_drop(stored.state, members),
        )
    ]  # fmt: skip
    if not all(ended):
        return False
    if stored.state in ENDED:
        write_archive(session, name)
    with session.store.write() as writer:
        if stored.state in ENDED:
            set_workstream_archived(writer, name, now=clock.now_ms())
        settle_workstream(writer, name, version=stored.version)
    return bool(ended) and name in attend(session)


def _end(session: Session, task: str, *, reason: str) -> bool:
    """Cancel a task; return False while its agent is still to be stopped."""
    with session.store.read() as reader:
        worker = find_worker_of_task(reader, task)
    if worker is not None and has_open_run(session, worker):
        stop_agent(session, worker.worker_id, worker.task_id, reason=reason)
        return False
    try:
        cancel_task(session, task)
    except GitWorkerError as error:
        session.report(Notice(f"task {task} could not be cancelled: {error.message}"))
        return False
    return True
