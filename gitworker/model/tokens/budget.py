"""Whether a task, or its project, has used the tokens of its budget. Pure, on the hot path."""

from __future__ import annotations

from typing import NamedTuple

from gitworker.errors import Invalid

CODE = "budget_exhausted"
TOKENS_MAX = 10**15
UNITS = {"k": 1000, "m": 10**6, "g": 10**9}


class Spent(NamedTuple):
    """A budget that is used up, in words, and the command that raises it."""

    words: str
    command: str


def parse_tokens(text: str) -> int:
    """Return the number of a text such as 1500, 500k or 2M; raise Invalid for another text."""
    digits = text.strip().replace("_", "").replace(",", "").lower()
    try:
        number = float(digits.rstrip("kmg")) * UNITS.get(digits[-1:], 1)
    except ValueError:
        number = -1
    if not 0 <= number <= TOKENS_MAX or number != int(number):
        raise Invalid(
            f"{ascii(text)[:40]} is not a number of tokens, such as 1500, 500k or 2M", code="usage"
        )
    return int(number)


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
