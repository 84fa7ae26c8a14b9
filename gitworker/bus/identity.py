"""Who speaks: by option, by GITWORKER_ID, by the worktree one stands in, else `hq`.

On the hot path: nothing heavy is imported here.
"""

from __future__ import annotations

from gitworker.model.ids import HQ, parse_agent_id
from gitworker.paths import Repository, read_seat

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Mapping


def who_asks(repository: Repository, identity: str | None, env: Mapping[str, str]) -> str:
    """Return the identity of whoever runs the command (DESIGN section 8); raise Invalid."""
    chosen = identity or env.get("GITWORKER_ID")
    if chosen:
        return parse_agent_id(chosen)
    seat = read_seat(repository.git_dir) if repository.is_linked else None
    return seat[0] if seat else HQ


def task_here(repository: Repository) -> str | None:
    """Return the task of the worktree one stands in; None outside a worker's worktree."""
    seat = read_seat(repository.git_dir) if repository.is_linked else None
    return seat[1] if seat else None
