"""Land handed-in work in a process of its own, so that agents start while commands verify."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.orchestrator.jobs.output_job import CommandJob

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session

VERIFIER = "verifier"


class LandJob(CommandJob):
    """A running `git worker land` of some workers."""

    def __init__(self, session: Session, workers: Sequence[str]) -> None:
        self.workers = tuple(workers)
        super().__init__(session.main_top, VERIFIER, "land", *workers)

    def refusals(self) -> dict[str, str]:
        """Return the reason for each worker that did not land; all of them if it was refused."""
        document = self.document()
        if "results" not in document:
            reason = _words(document.get("error"))
            return dict.fromkeys(self.workers, reason)
        return {
            str(one["worker"]): _words(one.get("error"))
            for one in document["results"]
            if not one["landed"]
        }


def _words(error: object) -> str:
    """Return an error of a JSON document in one line."""
    if not isinstance(error, dict):
        return "the landing was interrupted"
    return " ".join(str(error.get("message", "")).split())
