"""One call of the program: the global options and the session that the command works in.

Before a command reads or changes anything, it finishes the operations that a killed command left
open, and applies the timeouts that have passed.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from gitworker.app import open_session
from gitworker.bus.drain import drain
from gitworker.bus.jobs.upkeep_job import ring_upkeep
from gitworker.bus.limits.send_limits import keep_limits
from gitworker.cli import output
from gitworker.errors import GitWorkerError, error_of
from gitworker.journal.settle import settle
from gitworker.journal.settled import Settled
from gitworker.lifecycle.find import require_worker
from gitworker.model.ids import Oid, Ref
from gitworker.repo.plumbing.opening import Opening, keep_target
from gitworker.session import Session
from gitworker.store.workers import Worker

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Renderer(Protocol[T_contra]):
    """Formats data as text; with a width of None, lines are not cut."""

    def __call__(self, data: T_contra, /, *, width: int | None, color: bool) -> str:
        """Return the text without a final newline."""
        ...


class Call:
    """The global options: the caller's identity and the form of the output.

    `opening` holds git's answers that the entry point has requested already; the first session uses
    it.
    """

    __slots__ = ("as_json", "identity", "opening")

    def __init__(
        self,
        identity: str | None = None,
        *,
        as_json: bool = False,
        opening: Opening | None = None,
    ) -> None:
        self.identity = identity
        self.as_json = as_json
        self.opening = opening

    def open(self) -> Session:
        """Open the repository for changes: set it up if necessary, settle interrupted operations.

        Raises Unavailable if the state directory cannot be written.
        """
        session = self.settle(create=True)[0]
        session.store.require_writable()
        return session

    def open_to_read(self) -> Session:
        """Open the repository to read, with all commits published."""
        return self.survey()[0]

    def survey(self) -> tuple[Session, dict[Ref, Oid]]:
        """Open the repository to read; return also the current tips of the branches."""
        session, _, workers = self._settle(create=False)
        return session, drain(session, workers, skipped=_report_skipped)

    def open_quickly(self) -> Session:
        """Open the repository without settling anything first."""
        return self._session(create=False)

    def settle(self, *, create: bool) -> tuple[Session, Settled]:
        """Open the repository and settle it; return also the result of the settlement."""
        session, settled, _ = self._settle(create=create)
        return session, settled

    def _settle(self, *, create: bool) -> tuple[Session, Settled, list[Worker] | None]:
        session = self._session(create=create)
        session.git.version(cache=f"{session.paths.root}/git-version")
        if session.store.is_read_only:
            return session, Settled([], []), None
        keep_limits(session.paths, session.settings)
        keep_target(session.paths, session.target)
        settled, workers = settle(session)
        ring_upkeep(session.store, session.repository.common_dir)
        _report_settled(settled)
        return session, settled, workers

    def _session(self, *, create: bool) -> Session:
        opening, self.opening = self.opening, None
        session = open_session(identity=self.identity, create=create, opening=opening)
        if session.note:
            output.narrate(session.note)
        return session

    def worker(self, session: Session, name: str | None) -> Worker:
        """Return the worker with this name; without a name, the caller's worker."""
        with session.store.read() as reader:
            return require_worker(reader, name, session)

    def render(
        self,
        data: T,
        render: Renderer[T],
        fields: Callable[[T], Mapping[str, Any]],
        *,
        exact: bool = False,
    ) -> None:
        """Print data as text for the reader's screen, or as one JSON document.

        `exact`: programs read the text as well, for example a diff.
        """
        if self.as_json:
            output.document(fields(data))
        else:
            width, color = output.screen_width(), output.wants_color()
            output.answer_rendered(render(data, width=width, color=color), exact=exact)

    def show(self, text: str, **fields: object) -> None:
        """Print text, or the fields as one JSON document."""
        output.show(text, fields, as_json=self.as_json)


def _report_settled(settled: Settled) -> None:
    """Report the settled operations, and those still open with their obstacles."""
    for operation in settled.ended:
        output.narrate(f"settled an interrupted {operation.kind} of {operation.worker_id}")
    for operation, error in settled.left:
        _warn(f"an interrupted {operation.kind} of {operation.worker_id} is still open", error)
    if settled.untold is not None:
        _warn("views and logs are not up to date", settled.untold)


def _report_skipped(ref: Ref, error: Exception) -> None:
    _warn(f"commits on {ref.removeprefix('refs/heads/')} are not published yet", error_of(error))


def _warn(problem: str, error: GitWorkerError) -> None:
    output.narrate(f"warning: {problem}: {error.message}")
    if error.detail:
        output.narrate("\n".join(f"  {line}" for line in error.detail.splitlines()))
    if error.hint:
        output.narrate(f"hint: {error.hint}")
