"""Columns of a terminal: wide characters take two, combining ones none."""

import pytest

from gitworker.observe.text import table
from gitworker.observe.text_width import cut, padded, width_of, wrapped


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", 0),
        ("plain", 5),
        ("Übung", 5),
        ("日本語", 6),
        ("ＡＢ", 4),
        ("한국", 4),
        ("\u1112\u1161\u11ab", 2),  # one Hangul syllable in three characters
        ("e\u0301te\u0301", 3),
        ("ก\u0e34น", 2),
        ("🚀", 2),
        ("❤\ufe0f", 2),
        ("❤", 1),
        ("日\ufe0f", 2),
        ("🇩🇪", 2),
        ("👩\u200d💻", 4),
        ("±×…→", 4),
    ],
)
def test_width(text: str, columns: int) -> None:
    """A text is as wide as a terminal shows it."""
    assert width_of(text) == columns


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("日本語", None, "日本語"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("日本語", 1, "…"),
        ("日本語", 0, ""),
        ("a日本", 4, "a日…"),
        ("e\u0301te\u0301s", 3, "e\u0301t…"),
        ("ab❤\ufe0fcd", 5, "ab❤\ufe0f…"[:2] + "❤\ufe0f…"),
        ("plain", 3, "pl…"),
    ],
)
def test_cut(text: str, width: int | None, shown: str) -> None:
    """A cut text fits the width and keeps characters with their marks."""
    assert cut(text, width) == shown
    assert width is None or width_of(cut(text, width)) <= width


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", None, ["one two three"]),
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 1, ["one", "two", "three"]),
        ("/a/long/path x", 5, ["/a/long/path", "x"]),
        ("日本 語", 5, ["日本", "語"]),
        ("", 5, [""]),
    ],
)
def test_wrapped(text: str, width: int | None, lines: list[str]) -> None:
    """Lines end between words; a wide word stays whole."""
    assert wrapped(text, width) == lines


def test_padded() -> None:
    """Blanks fill the columns, not the characters."""
    assert padded("日本", 6) == "日本  "
    assert padded("日本", 3) == "日本"


def test_table_of_wide_text() -> None:
    """Columns are aligned and cut by columns of the terminal."""
    rows = [("日本語", "ログインを直す"), ("auth", "Fix the login 🚀"), ("e\u0301", "x")]
    assert table(("WORKER", "NEWS"), rows, width=24) == [
        "WORKER  NEWS",
        "日本語  ログインを直す",
        "auth    Fix the login 🚀",
        "e\u0301       x",
    ]
    lines = table(("WORKER", "NEWS"), rows, width=18)
    assert [width_of(line) for line in lines] == [12, 17, 18, 9]
    assert lines[1:3] == ["日本語  ログイン…", "auth    Fix the l…"]
