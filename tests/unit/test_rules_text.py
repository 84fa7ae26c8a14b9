"""The characters of a text from outside that are shown, and the escapes of the others."""

import json
import shlex
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.rules_text import (
    count_text,
    is_placeholder,
    is_shown,
    is_url,
    masked_url,
    one_line,
    printable,
    quoted,
    size_text,
)

HIDDEN = {
    "C0": "\x00\x07\x08\x0b\x0c\r\x1b\x1f",
    "DEL and C1": "\x7f\x80\x85\x90\x9b\x9d\x9f",
    "bidi": "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    "zero width": "\u00ad\u180e\u200b\u200c\u200d\u2060\u2064\ufeff\u206f",
    "lines": "\u2028\u2029",
    "tags": "\U000e0001\U000e0020\U000e007f",
    "surrogates": "\udc80\udcff\ud800",
    "fillers": "\u034f\u115f\u1160\u17b4\u3164\uffa0\u2800\ufe00\U000e0100",
    "blanks": "\u00a0\u2003\u3000",
    "private and unassigned": "\ue000\U000f0000\uffff\U0003ffff",
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_hidden_characters_are_escaped(kind: str) -> None:
    """Characters that command a terminal, reorder text or are invisible are escaped."""
    for character in HIDDEN[kind]:
        assert not is_shown(character), hex(ord(character))
        for text in (printable(f"a{character}b"), one_line(f"a{character}b")):
            assert character not in text
            assert is_shown(text)


@pytest.mark.parametrize("text", ["plain", "ü 漢字 🙂", "❤\ufe0f", "e\u0301", "עברית", "a b"])
def test_ordinary_text_stays(text: str) -> None:
    """Letters of every script, emoji and accents are shown as they are."""
    assert printable(text) == one_line(text) == text


def test_lines_and_tabs() -> None:
    """Line ends and tabs stay in a text, and are escaped in a single line."""
    assert printable("a\tb\nc") == "a\tb\nc"
    assert one_line("a\tb\nc") == "a\\tb\\nc"


@given(st.text())
def test_json_keeps_its_meaning(text: str) -> None:
    """Escaping a line of JSON does not change its value, and leaves no format character."""
    line = json.dumps({"a": text}, ensure_ascii=False)
    shown = printable(line)
    assert json.loads(shown) == json.loads(line)
    assert not any(unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp"} for c in shown)


@pytest.mark.parametrize(
    "text", ["/plain/path-1.x", "", "it's", "two words", "$HOME", "a\nb", "ü", "\udcff", "-n", "~"]
)
def test_quoted(text: str) -> None:
    """A quoted path is one word of a shell, as shlex quotes it."""
    assert quoted(text) == shlex.quote(text)
    assert shlex.split(quoted(text)) == [text]


@pytest.mark.parametrize(
    ("word", "expected"),
    [("<task>", True), ("<new-name>", True), ("<div>", False), ("task", False), ("<", False),
     ("<task", False), ("", False)],
)  # fmt: skip
def test_placeholders(word: str, expected: bool) -> None:
    """Only the placeholders that hints use count, so that other text in brackets passes."""
    assert is_placeholder(word) is expected


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 40, "5.0 TiB")]
)
def test_size_text(size: int, text: str) -> None:
    """Sizes are shown in an everyday unit."""
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ntfy://host/topic", "ntfy://…"), ("mailto://a:b@c.org", "mailto://…"),
        ("git+ssh://x", "git+ssh://…"), ("", None), ("12345", None), ("://x", None),
        ("json://", None), ("js on://x", None), ("json://x y", None), ("json://é", None),
        ("json://x\ny", None),
    ],
)  # fmt: skip
def test_addresses_of_services(text: str, shown: str | None) -> None:
    """An address has a scheme and no blanks; only the scheme is shown."""
    assert is_url(text) is (shown is not None)
    assert masked_url(text) == (shown or masked_url(text))
    assert masked_url("pa55word") == "…"


def test_count() -> None:
    """The noun of a count agrees with it."""
    assert [count_text(number, "file") for number in (0, 1, 2)] == ["0 files", "1 file", "2 files"]
