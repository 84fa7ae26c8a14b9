"""One call of the program: the global options and the session that the command works in.

Before a command reads or changes anything, it finishes the operations that a killed command left
open, and applies the timeouts that have passed.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from gitworker.cli import output
from gitworker.errors import GitWorkerError
from gitworker.lifecycle.find import require_worker
from gitworker.model.ref_names import short_name
from gitworker.progress import (
    BranchSkipped,
    Event,
    FilesOutdated,
    Notice,
    OperationOpen,
    OperationSettled,
    OutputLine,
    Progress,
    Replaying,
    VerificationNotice,
    Verifying,
    WorkersLanded,
)
from gitworker.repo.plumbing.opening import OpeningAnswers
from gitworker.service.request import (
    Request,
    open_for_change,
    open_quickly,
    open_settled,
    open_to_read,
)
from gitworker.session import Session
from gitworker.store.workers import Worker

if TYPE_CHECKING:
    from gitworker.service.service import Service
    from gitworker.service.views import ViewMethods

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Renderer(Protocol[T_contra]):
    """Formats data as text; with a width of None, lines are not cut."""

    def __call__(self, data: T_contra, /, *, width: int | None, color: bool) -> str:
        """Return the text without a final newline."""
        ...


class CommandLine:
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
        opening: OpeningAnswers | None = None,
    ) -> None:
        self.identity = identity
        self.as_json = as_json
        self.opening = opening

    def open(self, report: Progress | None = None) -> Session:
        """Open the repository for changes: set it up if necessary, settle interrupted operations.

        `report` receives the events; by default they are shown. Raises Unavailable if the state
        directory cannot be written.
        """
        return open_for_change(self._request(report))

    def open_to_read(self) -> Session:
        """Open the repository to read, with all commits published."""
        return open_to_read(self._request())[0]

    def open_quickly(self) -> Session:
        """Open the repository without settling anything first."""
        return open_quickly(self._request())

    def open_settled(self) -> Session:
        """Open the repository and settle it; do not set it up."""
        return open_settled(self._request(), create=False).session

    def service(self, report: Progress | None = None) -> "Service":
        """Return the service for this command; `report` receives the events, else they are shown.

        Its methods import their use cases themselves, so that a command pays for its own only.
        """
        from gitworker.service.service import Service

        return Service(self._request(report))

    def views(self) -> "ViewMethods":
        """Return the part of the service that shows, without the modules of the others (10 ms)."""
        from gitworker.service.views import ViewMethods

        return ViewMethods(self._request())

    def _request(self, report: Progress | None = None) -> Request:
        opening, self.opening = self.opening, None
        return Request(
            identity=self.identity, report=report or show_event,
            is_interactive=output.is_terminal(output.ERR), is_command=True, opening=opening,
        )  # fmt: skip

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
        pages: bool = False,
    ) -> None:
        """Print data as text for the reader's screen, or as one JSON document.

        `exact`: programs read the text as well, for example a diff. `pages`: text that does not fit
        the terminal is shown by the pager.
        """
        if self.as_json:
            output.document(fields(data))
        else:
            width, color = output.screen_width(), output.wants_color()
            text = render(data, width=width, color=color)
            if pages and width is not None:
                from gitworker.cli.output_pager import answer_paged  # only on a terminal

                answer_paged(text, exact=exact)
            else:
                output.answer_rendered(text, exact=exact)

    def show(self, text: str, **fields: object) -> None:
        """Print text, or the fields as one JSON document."""
        output.show(text, fields, as_json=self.as_json)


def show_event(event: Event) -> None:
    """Write an event of the service to standard error."""
    match event:
        case Notice(text) | VerificationNotice(text):
            output.narrate(text)
        case OutputLine(text):
            if output.is_terminal(output.ERR):
                output.narrate(text)
        case OperationSettled(kind, worker):
            output.narrate(f"settled an interrupted {kind} of {worker}")
        case OperationOpen(kind, worker, error):
            _warn(f"an interrupted {kind} of {worker} is still open", error)
        case FilesOutdated(error):
            _warn("views and logs are not up to date", error)
        case BranchSkipped(ref, error):
            _warn(f"commits on {short_name(ref)} are not published yet", error)
        case Verifying() | Replaying() | WorkersLanded():  # shown by the command that lands
            pass


def _warn(problem: str, error: GitWorkerError) -> None:
    output.narrate(f"warning: {problem}: {error.message}")
    if error.detail:
        output.narrate("\n".join(f"  {line}" for line in error.detail.splitlines()))
    if error.hint:
        output.narrate(f"hint: {error.hint}")
