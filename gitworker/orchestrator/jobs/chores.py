"""The chores of a run beside its tasks: the final validations of workstreams.

Each runs in a process of its own, so that agents start meanwhile.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from gitworker.orchestrator.jobs.output_job import OutputJob
from gitworker.progress import Notice
from gitworker.workstreams.attend import attend

if TYPE_CHECKING:
    from gitworker.session import Session

VERIFIER = "verifier"


class Chores:
    """The chores of one run; what must survive it is in the database."""

    __slots__ = ("_session", "_tried", "validations")

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tried: set[str] = set()  # validations that could not be carried out in this run
        self.validations: dict[str, OutputJob] = {}

    @property
    def is_busy(self) -> bool:
        """Return whether a chore runs, for whose end the run waits."""
        return bool(self.validations)

    def tick(self, *, starts: bool) -> None:
        """Take the results of ended chores and start those that are due."""
        for name, job in list(self.validations.items()):
            if job.has_ended():
                del self.validations[name]
                self._say(_outcome(name, bytes(job.output)))
        for name in attend(self._session):
            if starts and name not in self._tried:
                self._tried.add(name)
                self.validations[name] = self._start("workstream", "validate", name)
                self._say(f"validating workstream {name}")

    def _start(self, *words: str) -> OutputJob:
        argv = [sys.executable, "-P", "-m", "gitworker", *words, "--as", VERIFIER, "--json"]
        return OutputJob(argv, cwd=self._session.main_top)

    def _say(self, text: str) -> None:
        self._session.report(Notice(text))


def _outcome(name: str, output: bytes) -> str:
    """Return the outcome of a validation in one line."""
    try:
        found = json.loads(output)
    except ValueError:
        found = {}
    if isinstance(found, dict) and "state" in found:
        why = f": {found['error']}" if found.get("error") else ""
        return f"workstream {name} is {found['state']}{why}"
    error = found.get("error") if isinstance(found, dict) else None
    words = error.get("message", "") if isinstance(error, dict) else "it was interrupted"
    return f"workstream {name} could not be validated: {words}"
