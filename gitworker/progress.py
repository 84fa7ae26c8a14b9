"""Typed events of an operation on its way; an interface decides how to show them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gitworker.errors import GitWorkerError
from gitworker.model.ids import Ref

if TYPE_CHECKING:
    from gitworker.model.outcome import Landed, NotLanded


class Notice(NamedTuple):
    """A sentence for a person, such as a changed target."""

    text: str


class OutputLine(NamedTuple):
    """Output of a program that runs for the operation, such as a fetch or a setup command."""

    text: str


class OperationSettled(NamedTuple):
    """An interrupted operation that was finished or rolled back on the way."""

    kind: str
    worker: str


class OperationOpen(NamedTuple):
    """An interrupted operation that is still open, and the reason."""

    kind: str
    worker: str
    error: GitWorkerError


class FilesOutdated(NamedTuple):
    """State files and logs that could not be brought up to date, and the reason."""

    error: GitWorkerError


class BranchSkipped(NamedTuple):
    """A branch whose new commits could not be published, and the reason."""

    ref: Ref
    error: GitWorkerError


class RunProgress(NamedTuple):
    """A verification that has not ended: the current command, its duration, the path of its log."""

    label: str
    command: str
    elapsed_ms: int
    log: str


class Verifying(NamedTuple):
    """The verifications that are requested and have not ended, twice a second."""

    runs: Sequence[RunProgress]


class VerificationNotice(NamedTuple):
    """A sentence for a person on a verification that began, ended, or was not necessary."""

    text: str


class Replaying(NamedTuple):
    """A worker whose commits are replayed next, and its number among those of the operation."""

    worker: str
    number: int
    total: int


class WorkersLanded(NamedTuple):
    """Results of a landing that are known before it has ended."""

    results: "Sequence[Landed | NotLanded]"


Event = (
    Notice
    | OutputLine
    | OperationSettled
    | OperationOpen
    | FilesOutdated
    | BranchSkipped
    | Verifying
    | VerificationNotice
    | Replaying
    | WorkersLanded
)


class Progress(Protocol):
    """Receives events, in the thread of the operation."""

    def __call__(self, event: Event, /) -> None:
        """Take one event; an exception ends the operation."""
        ...


def ignore(_: Event) -> None:
    """Show nothing."""
