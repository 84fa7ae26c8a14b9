"""Opening a repository for one request: git and settings are checked, overdue work is settled.

Every interface opens the repository here. Interrupted operations of killed commands are
finished or rolled back, workers that became stale are recorded, and new commits are published.
"""

from collections.abc import Mapping
from typing import NamedTuple

from gitworker.app import open_session
from gitworker.bus.drain import drain
from gitworker.bus.jobs.upkeep_job import start_upkeep_job
from gitworker.bus.limits.send_limits import keep_limits
from gitworker.errors import as_gitworker_error
from gitworker.journal.settle import settle
from gitworker.journal.settled import Settled
from gitworker.model.ids import HQ, Oid, Ref
from gitworker.progress import (
    BranchSkipped,
    FilesOutdated,
    Notice,
    OperationOpen,
    OperationSettled,
    Progress,
    ignore,
)
from gitworker.repo.plumbing.opening import OpeningAnswers, keep_target
from gitworker.session import Session
from gitworker.store.workers import Worker


class Opened(NamedTuple):
    """An open repository, the operations that were settled, and all workers if they are known."""

    session: Session
    settled: Settled
    workers: list[Worker] | None


class Request(NamedTuple):
    """The origin of a request: a directory of the repository, an identity, a receiver of events.

    Without `directory` it is the working directory, without `environment` the process's own. Both
    defaults are for the command line. `is_interactive`: a person at a terminal can answer git's
    questions. `is_command`: the process is a command that an agent or a person has started, so
    that one of its ancestors is the agent. `opening` holds git's answers that the caller has
    requested already.
    """

    directory: str | None = None
    identity: str | None = None
    environment: Mapping[str, str] | None = None
    report: Progress = ignore
    is_interactive: bool = False
    is_command: bool = False
    opening: OpeningAnswers | None = None


def open_quickly(request: Request) -> Session:
    """Open an initialised repository and settle nothing."""
    return _open(request, create=False)


def open_without_settings(request: Request) -> Session:
    """Open an initialised repository to repair it, although its settings cannot be read."""
    return _open(request, create=False, reads_settings=False)


def open_settled(request: Request, *, create: bool) -> Opened:
    """Open a repository and settle interrupted operations and overdue workers.

    `create` sets the repository up if it is not. In a read-only repository nothing is settled.
    """
    session = _open(request, create=create)
    session.git.version(cache=f"{session.paths.root}/git-version")
    if session.store.is_read_only:
        return Opened(session, Settled([], []), None)
    keep_limits(session.paths, session.settings)
    keep_target(session.paths, session.target)
    settled, workers = settle(session)
    start_upkeep_job(session.store, session.repository.common_dir)
    _report_settled(settled, request.report)
    return Opened(session, settled, workers)


def open_for_change(request: Request) -> Session:
    """Open a repository to change it; raise Unavailable if its state cannot be written."""
    session = open_settled(request, create=True).session
    session.store.require_writable()
    if session.actor == HQ:  # agents cannot correct it
        for fault in session.settings.file_faults:
            request.report(Notice(f"warning: {fault}"))
    return session


def open_to_read(request: Request) -> tuple[Session, dict[Ref, Oid]]:
    """Open a repository to read it, new commits published; return the branch tips too."""
    opened = open_settled(request, create=False)

    committed: list[Worker] = []

    def skipped(ref: Ref, error: Exception) -> None:
        request.report(BranchSkipped(ref, as_gitworker_error(error)))

    refs = drain(opened.session, opened.workers, skipped=skipped, committed=committed.append)
    if committed:
        from gitworker.lifecycle.take_up import take_up_committed  # 5 ms, only after a commit

        take_up_committed(opened.session, committed)
    return opened.session, refs


def _open(request: Request, *, create: bool, reads_settings: bool = True) -> Session:
    return open_session(
        directory=request.directory, identity=request.identity, env=request.environment,
        create=create, opening=request.opening, reads_settings=reads_settings,
        report=request.report, is_interactive=request.is_interactive,
    )  # fmt: skip


def _report_settled(settled: Settled, report: Progress) -> None:
    for operation in settled.ended:
        report(OperationSettled(operation.kind, operation.worker_id))
    for operation, error in settled.left:
        report(OperationOpen(operation.kind, operation.worker_id, error))
    if settled.unpublished is not None:
        report(FilesOutdated(settled.unpublished))
