"""The identity for an agent's commits, as variables that outlive a change of git's configuration.

On the hot path of `exec`: both questions to git are asked at once.
"""

from __future__ import annotations

import os

from gitworker.errors import GitWorkerError
from gitworker.repo.plumbing.git import Git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitworker.proc import Running

ROLES = ("AUTHOR", "COMMITTER")


class IdentityQuestion:
    """Ask git for author and committer in a worktree; `answer` waits for both."""

    __slots__ = ("_git", "_running")

    def __init__(self, worktree: str) -> None:
        self._git = Git(worktree)
        self._running = {role: self._git.start("var", _ident(role)) for role in ROLES}

    def answer(self) -> dict[str, str]:
        """Return GIT_AUTHOR_* and GIT_COMMITTER_* with the values that git would use itself.

        A role that git refuses to guess is left out, so that a commit fails with git's own advice.
        """
        found: dict[str, str] = {}
        for role, running in self._running.items():
            found.update(self._variables(role, running))
        return found

    def _variables(self, role: str, running: Running) -> dict[str, str]:
        try:
            ident = self._git.finish(running, ("var", _ident(role))).out
        except GitWorkerError:
            return {}
        name, _, rest = os.fsdecode(ident).partition(" <")
        return {f"GIT_{role}_NAME": name, f"GIT_{role}_EMAIL": rest.partition("> ")[0]}


def _ident(role: str) -> str:
    return f"GIT_{role}_IDENT"
