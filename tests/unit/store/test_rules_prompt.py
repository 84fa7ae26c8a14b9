"""The words that a task gives its agent."""

import pytest

from gitworker.store.records.rules_prompt import (
    NOTHING_DONE,
    has_left_files,
    nothing_handed_in,
    prompt_of,
    with_last_error,
)


def test_the_prompt() -> None:
    """The text or the title comes first, then criteria, test commands and context."""
    assert prompt_of("T", "text\n") == "text\n"
    assert prompt_of("T", "") == "T"
    found = prompt_of("T", "text\n", criteria=["It is blue"], tests=["make test"], context=["Note"])
    assert found == (
        "text\n\nThe work is done when:\n- It is blue\n\nCommands that test the work:\n"
        "  make test\n\nNote"
    )
    assert prompt_of("", "", tests=["make"]) == "Commands that test the work:\n  make"


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
