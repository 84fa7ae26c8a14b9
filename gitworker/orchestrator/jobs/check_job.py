"""Run the test commands of a task in its worktree after its work was handed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.orchestrator.jobs.output_job import OutputJob
from gitworker.orchestrator.jobs.review_place import require_review_place
from gitworker.orchestrator.jobs.rules_check import failure_note

if TYPE_CHECKING:
    from gitworker.session import Session
    from gitworker.store.workers import Worker

# Each command in turn; the last line is the verdict.
SCRIPT = """\
exec 2>&1
for command; do
    echo "\\$ $command"
    sh -c "$command" </dev/null || { echo "ended with status $?"; exit 1; }
done
echo passed
"""


class CheckJob(OutputJob):
    """The running test commands of a task; `version` is that of the worker's row."""

    def __init__(self, session: Session, worker: Worker, commands: tuple[str, ...]) -> None:
        """Start the commands; raise Refused unless the worktree is the worker's own."""
        self.version = worker.version
        super().__init__(
            ["/bin/sh", "-c", SCRIPT, "sh", *commands], cwd=require_review_place(session, worker),
            limit_s=session.settings.verify_timeout_s,
        )  # fmt: skip

    @property
    def failure(self) -> str | None:
        """Return the failure of an ended job as a note for its author; None if all passed."""
        return failure_note(self.output.decode(errors="replace"))
