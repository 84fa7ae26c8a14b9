"""The words of an attempt that handed nothing in, and of the next one."""

import pytest

from gitworker.orchestrator.rules_attempt import (
    NOTHING_DONE,
    has_left_files,
    nothing_handed_in,
    with_last_error,
)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([], ""), (["a"], ": a is not committed"), (["a", "b"], ": a, b are not committed"),
        (list("abcde"), ": a, b, c and 2 more are not committed"),
    ],
)  # fmt: skip
def test_what_an_attempt_left(files: list[str], words: str) -> None:
    """The files that are not committed are named, of many the first ones."""
    error = nothing_handed_in(files)
    assert error == NOTHING_DONE + words
    assert has_left_files(error) is bool(files)


def test_the_next_attempt_knows_the_last() -> None:
    """The prompt is the task's text, then what went wrong and what helps."""
    prompt = with_last_error("Build it.", nothing_handed_in(["a"]))
    assert prompt.startswith("Build it.\n\nThe last attempt failed: its agent ended without")
    assert "a is not committed. Commit what belongs to the task" in prompt
    assert with_last_error("", "no").startswith("The last attempt")
