"""The verdict of a task's test commands. Pure."""

PASSED = "passed"
LINES = 40
CHARACTERS = 4000


def failure_note(output: str) -> str | None:
    """Return the end of the output of failed test commands as a note; None if they passed.

    Without a verdict in the last line they were killed and count as failed.
    """
    lines = output.splitlines()
    if lines and lines[-1] == PASSED:
        return None
    end = "\n".join(lines[-LINES:])[-CHARACTERS:]
    return f"the test commands of the task failed:\n{end or 'they were killed'}"
