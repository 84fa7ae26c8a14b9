"""The verdict of a task's test commands."""

from gitworker.orchestrator.jobs.rules_check import LINES, failure_note


def test_the_last_line_is_the_verdict() -> None:
    """Only a complete output has passed; otherwise its end is the note for the author."""
    assert failure_note("$ make test\nok\npassed\n") is None
    assert failure_note("passed\n$ make lint\nended with status 2\n") == (
        "the test commands of the task failed:\npassed\n$ make lint\nended with status 2"
    )
    assert failure_note("") == "the test commands of the task failed:\nthey were killed"
    note = failure_note("line\n" * 100)
    assert note is not None
    assert note.count("line") == LINES
