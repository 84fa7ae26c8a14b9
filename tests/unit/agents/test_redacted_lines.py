"""An agent's output without secrets, whatever the pieces in which it arrives."""

from gitworker.agents.process.redacted_lines import HELD_AT_MOST, RedactedLines

TEXT = b"one\nOPENAI_API_KEY=abcdef two\rthree --token abc\nfour"
EXPECTED = b"one\nOPENAI_API_KEY=[redacted] two\rthree --token [redacted]\nfour"


def test_a_secret_in_two_pieces() -> None:
    """Wherever the output is cut, the lines are whole before they are searched."""
    for at in range(len(TEXT) + 1):
        lines = RedactedLines()
        found = lines.feed(TEXT[:at]) + lines.feed(TEXT[at:])
        assert found + lines.end() == EXPECTED
        assert not lines.is_holding


def test_a_long_line_is_not_kept() -> None:
    """A line without an end is returned up to its last blank, so that memory stays small."""
    lines = RedactedLines()
    assert lines.feed(b"x" * HELD_AT_MOST) == b""
    assert lines.is_holding
    assert lines.feed(b" KEY=ab") == b"x" * HELD_AT_MOST + b" "
    assert lines.feed(b"c\n") == b"KEY=[redacted]\n"
    assert lines.feed(b"y" * (HELD_AT_MOST + 1)) == b"y" * (HELD_AT_MOST + 1)
    assert lines.end() == b""


def test_binary_output_is_not_held() -> None:
    """Output with a NUL is returned at once, with a line that began before it."""
    lines = RedactedLines()
    assert lines.feed(b"begun ") == b""
    assert lines.feed(b"\0KEY=abc") == b"begun \0KEY=[redacted]"
    assert not lines.is_holding
