"""The coloured parts of the lines of a diff."""

import re
import sys
from typing import Any

import pytest

from gitworker.review.page.colors import (
    ColoredPart,
    find_lexer,
    load_lexers,
    parts_of,
    tokens_of,
)

LINES = [("same", 'text = """one'), ("del", "two"), ("add", 'def f():"""'), ("same", "return 1")]


def kinds(lines: list[tuple[str, str]], name: str = "a.py") -> list[list[tuple[str, str]]]:
    """Return the coloured parts of lines."""
    return [[one for one in row if one[0]] for row in tokens_of(lines, find_lexer(name))]


def test_sides() -> None:
    """Each side is a text of its own, and a line of both has the colours of the new side."""
    first, old, new, last = kinds(LINES)
    assert ("n", "text") in first
    assert old == [("s2", "two")]
    assert new == [("s2", "def f():"), ("s2", '"""')] or new == [("s2", 'def f():"""')]
    assert ("k", "return") in last


def test_no_lexer() -> None:
    """A file of no known kind has no colours, and its text is complete."""
    load_lexers(["README", "a.py"])
    assert find_lexer("README") is None
    assert tokens_of(LINES, None) == [[("", text)] for _, text in LINES]


def test_a_note_has_no_colours() -> None:
    """A note of git about a line is on no side."""
    assert tokens_of([("note", " if x")], find_lexer("a.py")) == [[("", " if x")]]


class Failing:
    """A lexer with a bug."""

    def get_tokens(self, _text: str) -> Any:
        """Fail."""
        raise RuntimeError("no such thing")


class Changing:
    """A lexer that leaves text out."""

    def get_tokens(self, _text: str) -> Any:
        """Return another text."""
        return [("", "other\n")]


@pytest.mark.parametrize("lexer", [Failing(), Changing()])
def test_a_wrong_lexer(lexer: object) -> None:
    """A lexer that fails or changes the text takes the colours away, not the text."""
    assert tokens_of(LINES, lexer) == [[("", text)] for _, text in LINES]


def test_parts_with_words() -> None:
    """The range that differs cuts the coloured parts."""
    assert list(parts_of([("k", "return"), ("", " value")], (3, 9))) == [
        ColoredPart("k", False, "ret"),
        ColoredPart("k", True, "urn"),
        ColoredPart("", True, " va"),
        ColoredPart("", False, "lue"),
    ]


@pytest.mark.slow
def test_lexers_are_those_of_pygments() -> None:
    """Each pattern of each lexer leads to the lexer that Pygments chooses for such a name."""
    lexers = pytest.importorskip("pygments.lexers")
    patterns = {one for lexer in lexers.get_all_lexers(plugins=False) for one in lexer[2]}
    names = [
        re.sub(r"\[(.).*?\]", r"\1", one).replace("*", "x").replace("?", "y") for one in patterns
    ]
    assert len(names) > 500
    for name in [*names, "src/a.py", "README", "Makefile.am", "x.PY", ".bashrc", "a.b.c", ""]:
        theirs = lexers.find_lexer_class_for_filename(name)
        assert type(find_lexer.__wrapped__(name)) is (theirs or type(None)), name


def test_without_pygments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Pygments no file has colours."""
    monkeypatch.setitem(sys.modules, "pygments.lexers", None)
    assert find_lexer.__wrapped__("a.py") is None
