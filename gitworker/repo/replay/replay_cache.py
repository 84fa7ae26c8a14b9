"""Cache git's answers that several replays of one command share.

A commit's changes never change; the user's settings and name apply to the whole command.
"""

from gitworker.repo.history.diffs import BlobChange
from gitworker.repo.plumbing.git import Git
from gitworker.repo.replay.rebase_settings import RebaseSettings, load_rebase_settings


class ReplayCache:
    """git's answers that are valid for one command; `changes` are by commit."""

    __slots__ = ("_committer", "_settings", "changes")

    def __init__(self) -> None:
        self.changes: dict[str, tuple[BlobChange, ...]] = {}
        self._committer: bytes | None = None
        self._settings: RebaseSettings | None = None

    def settings(self, git: Git) -> RebaseSettings:
        """Return the settings that influence the result of a rebase."""
        if self._settings is None:
            self._settings = load_rebase_settings(git)
        return self._settings

    def committer(self, git: Git) -> bytes:
        """Return the user as committer, with the time of the first call."""
        if self._committer is None:
            self._committer = git.run("var", "GIT_COMMITTER_IDENT").out.rstrip(b"\n")
        return self._committer
