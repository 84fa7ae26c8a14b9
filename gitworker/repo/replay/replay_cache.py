"""What several replays of one command need ask git only once.

A commit's changes never change; the user's settings and name hold for the whole command.
"""

from gitworker.repo.history.diffs import BlobChange
from gitworker.repo.plumbing.git import Git
from gitworker.repo.replay.rebase_settings import RebaseSettings, load_rebase_settings


class Memory:
    """Answers of git that hold as long as a command runs; `changes` are by commit."""

    __slots__ = ("_committer", "_settings", "changes")

    def __init__(self) -> None:
        self.changes: dict[str, tuple[BlobChange, ...]] = {}
        self._committer: bytes | None = None
        self._settings: RebaseSettings | None = None

    def settings(self, git: Git) -> RebaseSettings:
        """Return the settings that decide how a rebase comes out."""
        if self._settings is None:
            self._settings = load_rebase_settings(git)
        return self._settings

    def committer(self, git: Git) -> bytes:
        """Return the user as a commit names him, with the time of the first asking."""
        if self._committer is None:
            self._committer = git.run("var", "GIT_COMMITTER_IDENT").out.rstrip(b"\n")
        return self._committer
