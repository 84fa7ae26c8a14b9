"""The words that a task gives its agent. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


NOTHING_DONE = "its agent ended without handing in any work"
SHOWN = 3  # names of files
ADVICE = (
    "Commit what belongs to the task (git add, git commit) and delete the rest, so that the work"
    " can be handed in."
)


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


def nothing_handed_in(files: Sequence[str]) -> str:
    """Return why an attempt has failed, with its files that are not committed."""
    if not files:
        return NOTHING_DONE
    more = len(files) - SHOWN
    names = ", ".join(files[:SHOWN]) + (f" and {more} more" if more > 0 else "")
    return f"{NOTHING_DONE}: {names} {'is' if len(files) == 1 else 'are'} not committed"


def has_left_files(error: str) -> bool:
    """Return whether an attempt failed since files were not committed."""
    return error.startswith(f"{NOTHING_DONE}: ")


def with_last_error(text: str, error: str) -> str:
    """Return the prompt of the next attempt: the task's text, and what went wrong."""
    return f"{text}\n\nThe last attempt failed: {error}. {ADVICE}".lstrip()
