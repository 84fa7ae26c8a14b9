"""`alias.worker` in a worktree's own configuration: `git worker` without `git-worker` on PATH.

git prefers a program on PATH, so the alias changes nothing for a user who has it there.
"""

import os

from gitworker.errors import GitWorkerError
from gitworker.paths import open_regular
from gitworker.repo.hooks.layout import is_named, kept_base, shell_quoted
from gitworker.repo.plumbing.git import Git

ALIAS = "alias.worker"
# git runs an alias at the top of the worktree, with GIT_DIR set.
START = '!cd "./$GIT_PREFIX" && unset GIT_DIR GIT_WORK_TREE && exec '


def alias_value(program: str) -> str:
    """Return the alias that runs a program in the caller's directory."""
    return START + shell_quoted(program)


def is_our_alias(key: str, value: str) -> bool:
    """Return whether a setting is an alias that gitworker has set."""
    return key == ALIAS and value.startswith(START)


class AliasChange:
    """Set the alias in a worktree; git writes it while the caller goes on, until `finish`.

    Only if the worktree is pointed at the shims and has no alias of its own. Starts no process if
    it is set already. An uninstall still restores the configuration byte for byte.
    """

    __slots__ = ("_base", "_before", "_file", "_git", "_running", "_words")

    def __init__(self, worktree_git: Git, admin: str, state_hooks: str, program: str) -> None:
        self._git = worktree_git
        self._base = kept_base(admin)
        self._file = f"{admin}/config.worktree"
        self._before = _read(self._file)
        value = alias_value(program)
        self._words = ("config", "--file", self._file, "--replace-all", ALIAS, value)
        is_due = is_named(self._before, state_hooks) and not is_named(self._before, value)
        self._running = worktree_git.start(*self._words) if is_due and self._is_free() else None

    def finish(self) -> None:
        """Wait until the alias is set; a configuration that cannot be written stays as it is."""
        if self._running is None:
            return
        try:
            self._git.finish(self._running, self._words)
        except GitWorkerError:  # another process holds the lock, or it is read-only: the next run
            return
        from gitworker.repo.hooks.config_files import (
            is_untouched,  # 5 ms, only the first time in a worktree
            keep_after,
        )

        if is_untouched(self._base, self._before):
            keep_after(self._base, _read(self._file))

    def _is_free(self) -> bool:
        """Return whether the worktree has no alias that the user has set there."""
        if b"[alias]" not in (self._before or b"").lower():
            return True
        done = self._git.run("config", "--file", self._file, "--get", ALIAS, ok=(0, 1))
        return done.status == 1 or is_our_alias(ALIAS, os.fsdecode(done.out))


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb", opener=open_regular) as file:
            return file.read()
    except OSError:
        return None
