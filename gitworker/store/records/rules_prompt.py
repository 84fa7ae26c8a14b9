"""The words that a task gives its agent. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def prompt_of(
    title: str,
    text: str,
    *,
    criteria: Sequence[str] = (),
    tests: Sequence[str] = (),
    context: Sequence[str] = (),
) -> str:
    """Return the text of a task, or else its title, then criteria, test commands and context."""
    parts = [text.rstrip("\n") if criteria or tests or context else text] if text else [title]
    if criteria:
        parts.append("\n".join(["The work is done when:", *(f"- {one}" for one in criteria)]))
    if tests:
        parts.append("\n".join(["Commands that test the work:", *(f"  {one}" for one in tests)]))
    parts += context
    return "\n\n".join(part for part in parts if part)


def answers_text(answers: Sequence[Sequence[str]]) -> str:
    """Return the questions of a task that were answered, each with its answer."""
    lines = (f"- You asked: {asked}\n  The answer: {answer}" for asked, answer in answers)
    return "\n".join(["Answers to questions of this task:", *lines])
