"""Typed events that the service reports while it works; an interface decides how to show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:  # the landing queue costs 20 ms, and every command imports this
    from collections.abc import Sequence

    from gitworker.errors import GitWorkerError
    from gitworker.lifecycle.outcome import Landed, NotLanded
    from gitworker.model.ids import Ref
    from gitworker.verify.verify_job import RunProgress as RunningVerification


class Notice(NamedTuple):
    """A sentence for a person, such as a changed target."""

    text: str


class OutputLine(NamedTuple):
    """A line of output of a program that runs for the operation: a fetch, a setup command."""

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


class Verifying(NamedTuple):
    """The verify commands that run at this moment."""

    runs: Sequence[RunningVerification]


class WorkersLanded(NamedTuple):
    """Results of a landing that are known before it has ended."""

    results: Sequence[Landed | NotLanded]


Event = (
    Notice
    | OutputLine
    | OperationSettled
    | OperationOpen
    | FilesOutdated
    | BranchSkipped
    | Verifying
    | WorkersLanded
)


class Progress(Protocol):
    """Receives events, in the thread that called the service."""

    def __call__(self, event: Event, /) -> None:
        """Take one event; an exception ends the operation."""
        ...


def ignore(_: Event) -> None:
    """Show nothing."""
