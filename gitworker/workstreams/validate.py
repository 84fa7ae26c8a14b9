"""workstream validate: run the final validation on the result, in a checkout of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.bus.steps.workstream import follow_tasks, move_workstream
from gitworker.errors import GitWorkerError
from gitworker.model.workstream import WorkstreamEvent
from gitworker.repo.plumbing.refs import find_tip
from gitworker.session import missing_target
from gitworker.states.workstream_machine import derive_workstream_state
from gitworker.store.planning.workstreams import set_workstream_error, shares_of
from gitworker.tasks.queue.join import require_workstream
from gitworker.tasks.queue.promote import publish_changes
from gitworker.verify.verify_once import verify_once
from gitworker.workstreams.attend import attend
from gitworker.workstreams.rules_workstream import is_complete, validation_refusal
from gitworker.worktrees.pool.pool import lender

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.planning.workstreams import Workstream

COMMANDS = "verify_commands"


class Validation(NamedTuple):
    """The workstream after its validation, and the log of the commands, if any ran."""

    stored: Workstream
    log: str

    @property
    def has_passed(self) -> bool:
        """Return whether the workstream is completed."""
        return is_complete(self.stored.state)


def validate(session: Session, name: str) -> Validation:
    """Run the validation commands on the result; the workstream is completed, or has failed.

    Without commands of its own the verify commands of the repository run. Raises Refused while a
    task is not complete, and the errors of `verify_once`: then the workstream stays as it is.
    """
    attend(session)
    with session.store.write() as writer:
        follow_tasks(writer, name, actor=session.actor)
    with session.store.read() as reader:
        stored = require_workstream(reader, name)
        derived = derive_workstream_state(shares_of(reader, name))
    if is_complete(stored.state):
        return Validation(stored, "")
    refusal = validation_refusal(name, stored.state, derived)
    if refusal is not None:
        raise refusal
    tip = find_tip(session.git, session.repository.common_dir, session.target)
    if tip is None:
        raise missing_target(session)
    try:
        verdict = verify_once(
            _with_commands(session, stored.validation), tip, label=name, lend=lender(session)
        )
    except GitWorkerError as error:
        _record(session, stored, None, error.message)
        raise
    event = (
        WorkstreamEvent.VALIDATION_PASSED if verdict.passed else WorkstreamEvent.VALIDATION_FAILED
    )
    why = "" if verdict.passed else f"the validation failed: {verdict.reason}"
    _record(session, stored, event, why, log=verdict.log)
    attend(session)
    publish_changes(session)
    with session.store.read() as reader:
        return Validation(require_workstream(reader, name), verdict.log)


def _record(
    session: Session, stored: Workstream, event: WorkstreamEvent | None, why: str, *, log: str = ""
) -> None:
    """Record the outcome, unless another command has recorded one."""
    with session.store.write() as writer:
        found = require_workstream(writer, stored.id)
        if found.version != stored.version:
            return
        set_workstream_error(writer, stored.id, why)
        if event is not None:
            move_workstream(
                writer, found, event, actor=session.actor,
                metadata={"reason": why, "log": log} if log or why else None,
            )  # fmt: skip


def _with_commands(session: Session, commands: tuple[str, ...]) -> Session:
    """Return the session with validation commands, which the user has given, to verify by."""
    if not commands:
        return session
    left = tuple(name for name in session.settings.from_file if name != COMMANDS)
    settings = session.settings._replace(verify_commands=commands, from_file=left)
    return session._replace(settings=settings)


def render_validation(done: Validation, *, width: int | None, color: bool) -> str:
    """Return the outcome in one line."""
    words = f"workstream {done.stored.id} is {done.stored.state}"
    words += f": {done.stored.last_error}" if done.stored.last_error else ""
    return f"{words}  log: {done.log}" if done.log else words


def json_validation(done: Validation) -> dict[str, Any]:
    """Return the outcome as JSON data."""
    return {
        "workstream": done.stored.id, "state": done.stored.state.value,
        "error": done.stored.last_error or None, "log": done.log or None,
    }  # fmt: skip
