"""The absolute path of `git-worker`, and git's settings that find it without PATH."""

from __future__ import annotations

import os
import sys

from gitworker.repo.hooks.worker_alias import ALIAS, AliasChange, alias_value
from gitworker.repo.plumbing.git import Git

NAME = "git-worker"
READS_WORKTREE_ALIAS = (2, 42)  # older versions look for aliases before they open config.worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitworker.paths import StatePaths
    from gitworker.store.workers import Worker


def find_own_program(*, started_as: str, interpreter: str, path: str) -> str | None:
    """Return the path of `git-worker`: as we were started, beside the interpreter, or on PATH."""
    beside = f"{os.path.dirname(os.path.abspath(interpreter))}/{NAME}"
    named = started_as if os.path.basename(started_as) == NAME else ""
    searched = [f"{part}/{NAME}" for part in path.split(":") if part.startswith("/")]
    for one in (named, beside, *searched):
        if one and os.path.isfile(one) and os.access(one, os.X_OK):
            return os.path.abspath(one)
    return None


def this_program() -> str | None:
    """Return the absolute path of `git-worker` for this process, or None."""
    path = os.environ.get("PATH", os.defpath)
    return find_own_program(started_as=sys.argv[0], interpreter=sys.executable, path=path)


class WayToUs:
    """Let an agent that resets PATH find `git worker`.

    `alias.worker` is being set in the worktree's own configuration, if our hooks are, until
    `finish`, which returns the variables for the agent: the program's path, and for a git that does
    not read aliases there the alias once more.
    """

    __slots__ = ("_alias", "_variables")

    def __init__(self, paths: StatePaths, worker: Worker) -> None:
        env = os.environ
        program = this_program()
        self._variables: dict[str, str] = {}
        self._alias: AliasChange | None = None
        if program is None or worker.worktree is None:
            return
        git = Git(worker.worktree)
        self._variables["GITWORKER"] = program
        if worker.admin_dir is not None:
            self._alias = AliasChange(git, worker.admin_dir, paths.hooks, program)
        if git.version(cache=f"{paths.root}/git-version") < READS_WORKTREE_ALIAS:
            self._variables.update(_added_setting(env, ALIAS, alias_value(program)))

    def finish(self) -> dict[str, str]:
        """Wait until the alias is set; return the variables."""
        if self._alias is not None:
            self._alias.finish()
        return self._variables


def _added_setting(env: Mapping[str, str], key: str, value: str) -> dict[str, str]:
    """Return the variables that add one setting to those in an environment (git-config(1))."""
    count = env.get("GIT_CONFIG_COUNT", "")
    number = int(count) if count.isdecimal() else 0
    for index in range(number):
        if env.get(f"GIT_CONFIG_KEY_{index}") == key:  # from the agent that started this one
            number = index
            break
    total = max(number + 1, int(count) if count.isdecimal() else 0)
    return {
        "GIT_CONFIG_COUNT": str(total),
        f"GIT_CONFIG_KEY_{number}": key,
        f"GIT_CONFIG_VALUE_{number}": value,
    }
