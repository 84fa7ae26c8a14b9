"""The caller's identity: the option, GITWORKER_ID, the worker of the current worktree, or `hq`.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

import os

from gitworker.errors import Refused
from gitworker.model.ids import HQ, parse_agent_id
from gitworker.paths import Repository, leads_elsewhere, read_worktree_owner

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Mapping


def caller_identity(
    repository: Repository,
    identity: str | None,
    env: Mapping[str, str],
    *,
    directory: str | None = None,
) -> str:
    """Return the identity of the caller in a directory (default: the working directory).

    Raises Invalid for a bad identity, and Refused in a former worktree of a worker.
    """
    chosen = identity or env.get("GITWORKER_ID")
    if chosen:
        return parse_agent_id(chosen)
    if repository.is_linked:
        found = read_worktree_owner(repository.git_dir)
        return found[0] if found else HQ
    place = directory or os.getcwd()
    if place != repository.top or leads_elsewhere(f"{place}/.git"):
        from gitworker.bus.caller.former_worktree import (
            refuse_former_worktree,  # 20 ms, not at the top of an ordinary main checkout
        )

        refuse_former_worktree(repository, place)
    return HQ


def find_other_worker(
    repository: Repository, identity: str | None, env: Mapping[str, str]
) -> str | None:
    """Return the worker of the current worktree if GITWORKER_ID names another agent, else None.

    A subagent, or a shell that changed to another worktree, inherits the variable. The option is
    given on purpose.
    """
    named = env.get("GITWORKER_ID")
    if identity or not named or not repository.is_linked:
        return None
    found = read_worktree_owner(repository.git_dir)
    return found[0] if found and found[0] != named else None


def ambiguous_caller(actor: str, other: str) -> Refused:
    """Return the refusal of a command without a worker's name, in the worktree of another one."""
    return Refused(
        f"GITWORKER_ID is {actor}, but this worktree belongs to {other}",
        f"export GITWORKER_ID={other}   # or add, to act for {actor} here: --as {actor}",
        code="ambiguous_worker",
    )


def find_worktree_task(repository: Repository) -> str | None:
    """Return the task of the current worktree; None outside a worker's worktree."""
    found = read_worktree_owner(repository.git_dir) if repository.is_linked else None
    return found[1] if found else None
