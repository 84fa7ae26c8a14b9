"""Whether a task, or its project, has used the tokens of its budget. Pure, on the hot path."""

from __future__ import annotations

from typing import NamedTuple

CODE = "budget_exhausted"


class Spent(NamedTuple):
    """A budget that is used up, in words, and the command that raises it."""

    words: str
    command: str


def spent_task(task: str, used: int, budget: int | None) -> Spent | None:
    """Return that a task has used its tokens, or None; a budget of None has no limit."""
    if budget is None or used < budget:
        return None
    return Spent(
        f"task {task} has used {used:,} of its {budget:,} tokens",
        f"git worker task edit {task} --budget <number>",
    )


def spent_project(project: str, used: int, budget: int | None) -> Spent | None:
    """Return that a project has used its tokens, or None."""
    if budget is None or used < budget:
        return None
    return Spent(
        f"project {project} has used {used:,} of its {budget:,} tokens",
        f"git worker project edit {project} --budget <number>",
    )
