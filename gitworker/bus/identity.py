"""The caller's identity: the option, GITWORKER_ID, the worker of the current worktree, or `hq`.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

from gitworker.model.ids import HQ, parse_agent_id
from gitworker.paths import Repository, read_worktree_owner

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Mapping


def caller_identity(repository: Repository, identity: str | None, env: Mapping[str, str]) -> str:
    """Return the identity of the caller; raise Invalid for a bad one."""
    chosen = identity or env.get("GITWORKER_ID")
    if chosen:
        return parse_agent_id(chosen)
    found = read_worktree_owner(repository.git_dir) if repository.is_linked else None
    return found[0] if found else HQ


def find_worktree_task(repository: Repository) -> str | None:
    """Return the task of the current worktree; None outside a worker's worktree."""
    found = read_worktree_owner(repository.git_dir) if repository.is_linked else None
    return found[1] if found else None
