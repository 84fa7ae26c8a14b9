"""workstream validate: run the final validation on the result, in a checkout of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.bus.steps.workstream import follow_tasks, move_workstream
from gitworker.errors import GitWorkerError
from gitworker.model.workstream import WorkstreamEvent
from gitworker.repo.plumbing.refs import find_tip
from gitworker.session import missing_target
from gitworker.store.planning.workstreams import set_workstream_error
from gitworker.tasks.queue.join import require_workstream
from gitworker.tasks.queue.promote import publish_changes
from gitworker.verify.verify_once import verify_once
from gitworker.workstreams.attend import attend
from gitworker.workstreams.land import land_branch, require_validating, with_commands
from gitworker.workstreams.rules_workstream import is_complete
from gitworker.worktrees.pool.pool import lender

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.planning.workstreams import Workstream


class Validation(NamedTuple):
    """The workstream after its validation, and the log of the commands, if any ran."""

    stored: Workstream
    log: str

    @property
    def has_passed(self) -> bool:
        """Return whether the workstream is completed, and its branch has landed if it has one."""
        return is_complete(self.stored.state) and not self.stored.has_to_land


def validate(session: Session, name: str) -> Validation:
    """Run the validation commands on the result; the workstream is completed, or has failed.

    Without commands of its own the verify commands of the repository run. A workstream with a
    branch runs both on that branch, replayed onto the target, and lands it. Raises Refused while a
    task is not complete, and the errors of `verify_once` and `land_branch`: then the workstream
    stays as it is.
    """
    attend(session)
    with session.store.write() as writer:
        follow_tasks(writer, name, actor=session.actor)
    with session.store.read() as reader:
        stored = require_workstream(reader, name)
        if is_complete(stored.state) and not stored.has_to_land:
            return Validation(stored, "")
        require_validating(reader, name)
    log = _land(session, stored) if stored.has_to_land else _validate(session, stored)
    attend(session)
    publish_changes(session)
    with session.store.read() as reader:
        return Validation(require_workstream(reader, name), log)


def _land(session: Session, stored: Workstream) -> str:
    """Validate a workstream's branch on top of the target and land it; return the log.

    A branch that does not pass stays, and its workstream too: further tasks can repair it.
    """
    try:
        verdict = land_branch(session, stored)
    except GitWorkerError as error:
        _record(session, stored, None, error.message)
        raise
    if not verdict.passed:
        _record(session, stored, None, f"the validation failed: {verdict.reason}")
    return verdict.log


def _validate(session: Session, stored: Workstream) -> str:
    """Validate the target, which has the work of all tasks; return the log."""
    tip = find_tip(session.git, session.repository.common_dir, session.target)
    if tip is None:
        raise missing_target(session)
    try:
        given = with_commands(session, stored.validation) if stored.validation else session
        verdict = verify_once(given, tip, label=stored.id, lend=lender(session))
    except GitWorkerError as error:
        _record(session, stored, None, error.message)
        raise
    event = (
        WorkstreamEvent.VALIDATION_PASSED if verdict.passed else WorkstreamEvent.VALIDATION_FAILED
    )
    why = "" if verdict.passed else f"the validation failed: {verdict.reason}"
    _record(session, stored, event, why, log=verdict.log)
    return verdict.log


def _record(
    session: Session, stored: Workstream, event: WorkstreamEvent | None, why: str, *, log: str = ""
) -> None:
    """Record the outcome, unless another command has recorded one.

    Raises Refused if a task has started again since.
    """
    with session.store.write() as writer:
        found = require_workstream(writer, stored.id)
        if found.version != stored.version:
            return
        set_workstream_error(writer, stored.id, why)
        if event is not None:
            require_validating(writer, stored.id)
            move_workstream(
                writer, found, event, actor=session.actor,
                metadata={"reason": why, "log": log} if log or why else None,
            )  # fmt: skip


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
