"""The printing module: characters that may reach a terminal."""

import json

import pytest

from gitworker.cli.live.follow_output import readable_line
from gitworker.cli.output import json_line
from gitworker.rules_text import printable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ü 漢", "plain ü 漢"),
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31m", "\\u001b[31m"),
        ("\x9b\x7f\r", "\\u009b\\u007f\\u000d"),
        ("\u202e", "\\u202e"),
        ("\udcff", "\\udcff"),
        ("\U000e0001", "\\udb40\\udc01"),
    ],
)
def test_printable(text: str, expected: str) -> None:
    """Characters that do not print are escaped as JSON escapes them."""
    assert printable(text) == expected


def test_escaped_json_is_the_same_json() -> None:
    """Escaping a line of JSON does not change its value."""
    value = {"a": "\x9b\u202e\U000e0001 ü\x7f"}
    line = json.dumps(value, ensure_ascii=False)
    assert json.loads(printable(line)) == value
    assert printable(line).isprintable()
    assert json_line(value).isascii()


def test_readable_line() -> None:
    """A followed message is one line for people, whatever its payload."""
    message = {
        "seq": 1, "id": "x", "ts": "2026-01-10T14:00:01.000Z", "from": "auth", "to": None,
        "type": "log", "correlation_id": "t1", "in_reply_to": None,
        "payload": {"text": "one\ntwo\x1b[2J"}, "payload_ref": None, "payload_error": None,
    }  # fmt: skip
    expected = '14:00:01  auth → all  log  t1  {"text": "one\\ntwo\\u001b[2J"}'
    assert readable_line(message) == expected
    bare = {**message, "payload": None, "to": "hq", "correlation_id": None}
    assert readable_line(bare) == "14:00:01  auth → hq  log  -"
    long = {**message, "payload": "x" * 1000}
    assert readable_line(long).endswith("x…")
    assert readable_line({**message, "payload_error": "blob_missing"}).endswith('"blob_missing"')
