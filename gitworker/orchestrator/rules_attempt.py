"""The words of an attempt that handed nothing in, and of the next one. Pure."""

from collections.abc import Sequence

NOTHING_DONE = "its agent ended without handing in any work"
SHOWN = 3  # names of files
ADVICE = (
    "Commit what belongs to the task (git add, git commit) and delete the rest, so that the work"
    " can be handed in."
)


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
