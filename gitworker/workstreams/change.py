"""workstream create, add and cancel."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.bus.steps.workstream import move_workstream, require_not_landing
from gitworker.crashpoint import crash_point
from gitworker.errors import Refused
from gitworker.model.ids import WORKSTREAM, Branch, Ref
from gitworker.model.ref_names import ref_of, short_name, workstream_ref
from gitworker.model.workstream import WorkstreamEvent
from gitworker.repo.plumbing.refs import create_ref, find_ref
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.session import missing_target, require_person
from gitworker.states.engine import InvalidTransition
from gitworker.states.workstream_machine import ENDED
from gitworker.store.planning.workstreams import (
    find_workstream,
    insert_workstream,
    set_due,
)
from gitworker.tasks.queue.add_task import require_commands_of_person, require_task
from gitworker.tasks.queue.join import join, require_one_target, require_open, require_workstream
from gitworker.tasks.queue.promote import publish_changes
from gitworker.workstreams.attend import attend
from gitworker.workstreams.files import write_archive
from gitworker.workstreams.rules_workstream import is_cancelled, is_complete

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.planning.workstreams import Workstream


class NewWorkstream(NamedTuple):
    """A workstream to create; with `has_branch` its tasks land on a branch of its own."""

    name: str
    title: str = ""
    validation: tuple[str, ...] = ()
    has_branch: bool = False


def create(session: Session, new: NewWorkstream) -> Workstream:
    """Create a workstream without tasks, and its branch at the target's commit if it has one.

    Raises Refused for an id that exists, for a branch name that git has already, and for
    validation commands of a worker; the target must have a commit.
    """
    require_commands_of_person(session, new.validation)
    with session.store.read() as reader:
        _require_new(reader, new.name)
    with hold(session.landing_lock, name="landing") if new.has_branch else nullcontext():
        now = clock.now_ms()  # the branch has all work that landed before
        branch = _make_branch(session, new.name) if new.has_branch else None
    crash_point("workstream.branch")
    with session.store.write() as writer:
        _require_new(writer, new.name)
        insert_workstream(
            writer, new.name, title=new.title, validation=new.validation, now=now, branch=branch
        )
        return require_workstream(writer, new.name)


def _require_new(reader: Reader, name: str) -> None:
    if find_workstream(reader, name) is not None:
        raise Refused(
            f"workstream {name} exists already", f"git worker workstream show {name}",
            code="workstream_exists",
        )  # fmt: skip


def _make_branch(session: Session, name: str) -> Ref:
    """Create the branch of a workstream at the target's commit; a killed create has made it."""
    require_person(session, "the branches on which work lands", "git worker status")
    ref, tip = workstream_ref(name), find_ref(session.git, session.target)
    if tip is None:
        raise missing_target(session)
    blocker = ref_of(Branch(WORKSTREAM))
    present = find_ref(session.git, ref)
    if present == tip:
        return ref
    if present is not None or find_ref(session.git, blocker) is not None:
        taken = short_name(blocker if present is None else ref)
        raise Refused(
            f"the branch {taken} exists, so workstream {name} cannot have {short_name(ref)}",
            f"git branch -m {taken} <new-name>",
            code="branch_exists",
        )
    create_ref(session.git, ref, tip, reason=f"git worker workstream create {name}")
    return ref


def add(session: Session, name: str, tasks: Sequence[str]) -> Workstream:
    """Put tasks that have not started into a workstream, all or none."""
    with session.store.write() as writer:
        require_open(writer, name)
        for task in tasks:
            join(writer, name, require_task(writer, task), actor=session.actor)
        for task in tasks:
            require_one_target(writer, task)
    attend(session)
    publish_changes(session)
    with session.store.read() as reader:
        return require_workstream(reader, name)


def cancel(session: Session, name: str) -> Workstream:
    """End a workstream and cancel its tasks, whose work is kept and can be restored.

    Raises InvalidTransition after the end, unless its landing was undone; Refused while its branch
    lands.
    """
    with session.store.write() as writer:
        found = require_workstream(writer, name)
        if is_cancelled(found.state):
            set_due(writer, name)  # an interrupted cancel continues
        else:
            _require_not_ended(found)
            require_not_landing(writer, found)
            move_workstream(writer, found, WorkstreamEvent.USER_CANCELLED, actor=session.actor)
    attend(session)
    publish_changes(session)
    with session.store.read() as reader:
        return require_workstream(reader, name)


def _require_not_ended(found: Workstream) -> None:
    if found.state in ENDED and not (is_complete(found.state) and found.has_to_land):
        raise InvalidTransition(
            found.state, WorkstreamEvent.USER_CANCELLED,
            f"git worker workstream show {found.id}",
            message=f"workstream {found.id} is {found.state} and cannot be cancelled",
        )  # fmt: skip


def archive(session: Session, name: str) -> str:
    """Carry out the rest of an ended workstream and write its archive; return the path.

    Raises Refused for a workstream that has not ended.
    """
    with session.store.read() as reader:
        found = require_workstream(reader, name)
    if found.state not in ENDED:
        raise Refused(
            f"workstream {name} is {found.state} and has not ended",
            f"git worker workstream show {name}",
            code="not_complete",
        )
    attend(session)
    return write_archive(session, name)
