"""The results of a landing, each shown as soon as it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.cli import output
from gitworker.cli.fields import left_out_text, short
from gitworker.cli.output_progress import ProgressLine
from gitworker.errors import GitWorkerError
from gitworker.model.outcome import Landed, NotLanded
from gitworker.model.ref_names import short_name
from gitworker.progress import Event, WorkersLanded

if TYPE_CHECKING:
    from collections.abc import Sequence


class LandingProgress(ProgressLine):
    """Also prints each result as soon as it is known, except with --json."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json
        self._output_error: Exception | None = None  # a closed output must not stop the queue

    def __call__(self, event: Event, /) -> None:
        """Show one event, or print the results that it reports."""
        if not isinstance(event, WorkersLanded):
            super().__call__(event)
            return
        self.clear()
        try:
            if not (self._output_error or self._as_json):
                print_results(event.results)
        except (OSError, GitWorkerError) as error:
            self._output_error = error

    def require_shown(self, results: list[Landed | NotLanded]) -> list[Landed | NotLanded]:
        """Return the results of a landing that has ended; raise the error of a closed output."""
        if self._output_error is not None:
            raise self._output_error
        return results


def worst_status(results: Sequence[Landed | NotLanded]) -> int:
    """Return the highest exit status of the workers that did not land, 0 if all have landed."""
    return max((one.error.status for one in results if isinstance(one, NotLanded)), default=0)


def print_results(results: Sequence[Landed | NotLanded]) -> None:
    """Write a line for each landed worker; write the errors of the others to standard error."""
    stopped: dict[int, list[NotLanded]] = {}  # an obstacle of several workers is printed once
    for result in results:
        if isinstance(result, NotLanded):
            stopped.setdefault(id(result.error), []).append(result)
            continue
        target = short_name(result.target)
        output.answer(f"{result.worker_id} landed: {target} is at {short(result.commit)}")
        if result.kept:
            output.narrate(f"kept {result.kept}: {result.kept_why}")
    for result in results:
        if isinstance(result, Landed) and result.left_out is not None:
            about = f"{result.worker_id}: " if len(results) > 1 else ""
            output.answer(about + left_out_text(result.left_out))
    for same in stopped.values():
        output.complain(same[0].error, about=", ".join(one.worker_id for one in same))
