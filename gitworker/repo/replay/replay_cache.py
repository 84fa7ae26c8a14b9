"""Cache git's answers that several replays of one command share.

A commit's changes never change; the user's settings and name apply to the whole command.
"""

from collections.abc import Mapping

from gitworker import clock
from gitworker.repo.plumbing.git import Git
from gitworker.repo.replay.rebase_settings import RebaseSettings, load_rebase_settings
from gitworker.repo.status.path_changes import Change


class ReplayCache:
    """git's answers that are valid for one command.

    `changes` are by commit, or by `<commit> <other>`; `replays` are results of `replay`.
    `git_config` are git's settings, if the caller has read them in the directory of the replays.
    """

    __slots__ = ("_committer", "_git_config", "_settings", "changes", "replays")

    def __init__(self, git_config: Mapping[str, str] | None = None) -> None:
        self.changes: dict[str, tuple[Change, ...]] = {}
        self.replays: dict[object, object] = {}
        self._committer: bytes | None = None
        self._git_config = git_config
        self._settings: RebaseSettings | None = None

    def settings(self, git: Git) -> RebaseSettings:
        """Return the settings that influence the result of a rebase."""
        if self._settings is None:
            self._settings = load_rebase_settings(git, self._git_config)
        return self._settings

    def committer(self, git: Git, *, not_before_s: int = 0) -> bytes:
        """Return the user as committer, now; `not_before_s` is the date of the parent.

        git walks by date: if commits are older than their parents, its answers may be wrong.
        """
        if self._committer is None:
            self._committer = git.run("var", "GIT_COMMITTER_IDENT").out.rstrip(b"\n")
        person, _, date = self._committer.rpartition(b"> ")
        now_s = max(clock.now_ms() // 1000, not_before_s)
        return b"%s> %d %s" % (person, now_s, date.partition(b" ")[2])
