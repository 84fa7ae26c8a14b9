"""The text of a task: the characters that it may have. Pure."""

from gitworker.errors import Invalid

TEXT_MAX_BYTES = 16 * 1024 * 1024


def parse_task_text(text: str | bytes) -> str:
    """Return the text of a task, line endings unchanged.

    Raises Invalid unless it is UTF-8 without NUL characters and at most 16 MiB.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > TEXT_MAX_BYTES:
        raise Invalid(f"the task's text has more than {TEXT_MAX_BYTES} bytes")
    try:
        parsed = raw.decode()
    except UnicodeDecodeError:
        parsed = "\0"
    if "\0" in parsed:
        raise Invalid("the task's text must be UTF-8 without NUL characters")
    return parsed
