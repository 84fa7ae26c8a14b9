"""The words that a task gives its agent."""

from gitworker.store.records.rules_prompt import prompt_of


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
