"""Land handed-in work in a process of its own, so that agents start while commands verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gitworker.model.ids import VERIFIER
from gitworker.orchestrator.jobs.output_job import CommandJob
from gitworker.orchestrator.rules_next import landing_passes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.session import Session


class LandingRefusal(NamedTuple):
    """Why a worker did not land; `passes`: the obstacle passes by itself."""

    reason: str
    passes: bool


class LandJob(CommandJob):
    """A running `git worker land` of some workers."""

    def __init__(self, session: Session, workers: Sequence[str]) -> None:
        self.workers = tuple(workers)
        super().__init__(session.main_top, VERIFIER, "land", *workers)

    def was_killed(self) -> bool:
        """Return whether it ended without a result."""
        return not self.document()

    def refusals(self) -> dict[str, LandingRefusal]:
        """Return the refusal of each worker that did not land; of all if it was refused."""
        document = self.document()
        if "results" not in document:
            refusal = _refusal(document.get("error"))
            return dict.fromkeys(self.workers, refusal)
        return {
            str(one["worker"]): _refusal(one.get("error"))
            for one in document["results"]
            if not one["landed"]
        }


def _refusal(error: object) -> LandingRefusal:
    """Return an error of a JSON document, with its message in one line."""
    if not isinstance(error, dict):
        return LandingRefusal("the landing was interrupted", passes=False)
    reason = " ".join(str(error.get("message", "")).split())
    return LandingRefusal(reason, passes=landing_passes(str(error.get("code"))))
