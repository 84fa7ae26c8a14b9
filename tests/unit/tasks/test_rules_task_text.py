"""The characters that the text of a task may have."""

import pytest

from gitworker.errors import Invalid
from gitworker.tasks.rules_task_text import TEXT_MAX_BYTES, parse_task_text


@pytest.mark.parametrize(
    "text",
    ["", "a", " \n", "a\r\nb\rc\n\n", "\u202e\x1b[2J\x07", "日本語 🦀\U0010ffff", "x" * (1 << 20)],
)
def test_any_text(text: str) -> None:
    """A text of any characters and line endings is kept exactly."""
    assert parse_task_text(text.encode()) == parse_task_text(text) == text


@pytest.mark.parametrize("raw", [b"\0", b"a\0b", b"\xff", b"d\xe9j\xe0", b"\xed\xa0\x80"])
def test_no_text(raw: bytes) -> None:
    """NUL and bytes that are not UTF-8 are refused with one message."""
    with pytest.raises(Invalid) as refused:
        parse_task_text(raw)
    assert refused.value.message == "the task's text must be UTF-8 without NUL characters"


@pytest.mark.parametrize("text", ["a\0", "\ud800"])
def test_no_text_from_python(text: str) -> None:
    """A text with NUL or a lone surrogate is refused as its bytes are."""
    with pytest.raises(Invalid, match="must be UTF-8 without NUL"):
        parse_task_text(text)


def test_too_long() -> None:
    """A text of 16 MiB is accepted, one byte more is not."""
    assert len(parse_task_text(b"x" * TEXT_MAX_BYTES)) == TEXT_MAX_BYTES
    with pytest.raises(Invalid, match="more than 16777216 bytes"):
        parse_task_text(b"x" * (TEXT_MAX_BYTES + 1))
