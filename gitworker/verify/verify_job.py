"""A commit in verification: its worktree, its log, its run."""

from gitworker import clock
from gitworker.model.ids import Oid
from gitworker.progress import RunProgress
from gitworker.verify.verify_run import CommandRun, RunLog
from gitworker.verify.verify_worktree import Slot

SHORT = 10


class VerifyJob:
    """A commit to be verified; worktree, log and run exist once it has begun."""

    def __init__(self, commit: Oid, label: str) -> None:
        self.commit = commit
        self.label = label
        self.key = ""  # the inputs for which its verdict will hold
        self.slot: Slot | None = None
        self.log: RunLog | None = None
        self.run: CommandRun | None = None
        self.is_second = False
        self.duration_ms = 0

    @property
    def name(self) -> str:
        """Return its name for the user."""
        return self.label or self.commit[:SHORT]

    def progress(self) -> RunProgress:
        """Return its progress."""
        if self.run is None or self.log is None:
            return RunProgress(self.label, "", 0, "")
        elapsed_ms = clock.monotonic_ms() - self.run.started_ms + self.duration_ms
        return RunProgress(self.label, self.run.command, elapsed_ms, self.log.path)

    def stop(self) -> None:
        """Kill the run, close the log and release the worktree; safe to repeat."""
        try:
            if self.run is not None:
                self.duration_ms += self.run.kill().duration_ms
                self.run = None
            if self.log is not None:
                self.log.close("cancelled", self.duration_ms)
        finally:
            if self.slot is not None:
                self.slot.release()
