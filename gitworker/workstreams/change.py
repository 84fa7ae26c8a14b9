"""workstream create, add and cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.bus.steps.workstream import move_workstream
from gitworker.errors import Refused
from gitworker.model.workstream import WorkstreamEvent
from gitworker.states.workstream_machine import ENDED
from gitworker.store.planning.workstreams import (
    find_workstream,
    insert_workstream,
    set_due,
)
from gitworker.tasks.queue.add_task import require_commands_of_person, require_task
from gitworker.tasks.queue.join import join, require_open, require_workstream
from gitworker.tasks.queue.promote import publish_changes
from gitworker.workstreams.attend import attend
from gitworker.workstreams.files import archive_of
from gitworker.workstreams.rules_workstream import is_cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session
    from gitworker.store.planning.workstreams import Workstream


class NewWorkstream(NamedTuple):
    """A workstream to create."""

    name: str
    title: str = ""
    validation: tuple[str, ...] = ()


def create(session: Session, new: NewWorkstream) -> Workstream:
    """Create a workstream without tasks.

    Raises Refused for an id that exists, and for validation commands of a worker.
    """
    require_commands_of_person(session, new.validation)
    with session.store.write() as writer:
        if find_workstream(writer, new.name) is not None:
            raise Refused(
                f"workstream {new.name} exists already",
                f"git worker workstream show {new.name}",
                code="workstream_exists",
            )
        insert_workstream(
            writer, new.name, title=new.title, validation=new.validation,
            now=clock.now_ms(),
        )  # fmt: skip
        return require_workstream(writer, new.name)


def add(session: Session, name: str, tasks: Sequence[str]) -> Workstream:
    """Put tasks that have not started into a workstream, all or none."""
    with session.store.write() as writer:
        require_open(writer, name)
        for task in tasks:
            join(writer, name, require_task(writer, task), actor=session.actor)
    attend(session)
    publish_changes(session)
    with session.store.read() as reader:
        return require_workstream(reader, name)


def cancel(session: Session, name: str) -> Workstream:
    """End a workstream and cancel its tasks, whose work is kept and can be restored.

    Raises InvalidTransition during the final validation and after the end.
    """
    with session.store.write() as writer:
        found = require_workstream(writer, name)
        if is_cancelled(found.state):
            set_due(writer, name)  # an interrupted cancel continues
        else:
            move_workstream(writer, found, WorkstreamEvent.USER_CANCELLED, actor=session.actor)
    attend(session)
    publish_changes(session)
    with session.store.read() as reader:
        return require_workstream(reader, name)


def archive(session: Session, name: str) -> str:
    """Carry out the rest of an ended workstream and write its archive; return the path.

    Raises Refused for a workstream that has not ended.
    """
    with session.store.write() as writer:
        found = require_workstream(writer, name)
        if found.state not in ENDED:
            raise Refused(
                f"workstream {name} is {found.state} and has not ended",
                f"git worker workstream show {name}",
                code="not_complete",
            )
        set_due(writer, name)
    attend(session)
    return archive_of(session, name)
