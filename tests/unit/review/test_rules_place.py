"""The place of a comment: its spelling, and the lines that it quotes."""

import pytest

from gitworker.errors import Invalid, NotFound
from gitworker.review.comments.rules_place import (
    Lines,
    parse_place,
    quoted_lines,
    same_lines,
    split_lines,
)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a.py:3", Lines("a.py", 3, 3)), ("a:b:3-5", Lines("a:b", 3, 5)),
        ("./a.py:3", Lines("a.py", 3, 3)), ("d//e/../a:1", Lines("d/a", 1, 1)),
        ("dir/ü x:10-10", Lines("dir/ü x", 10, 10)),
    ],
)  # fmt: skip
def test_places(text: str, place: Lines) -> None:
    """A place is a path, a colon, and a line or a range."""
    assert parse_place(text) == place


@pytest.mark.parametrize(
    "text", ["a", "a:", ":3", "a:3-", "a:-3", "a:x", "a:0", "a:5-4", "a:²", "/a:1", "../a:1", ".:1"]
)
def test_other_texts_are_refused(text: str) -> None:
    """A text without a path, a colon and a range of lines is Invalid."""
    with pytest.raises(Invalid):
        parse_place(text)


def test_quoted_lines() -> None:
    """Lines end at newlines only; a carriage return and bytes that are not UTF-8 are kept."""
    content = b"one\r\ntwo\xff\n\nfour"
    assert quoted_lines(Lines("f", 1, 2), content, label="x") == ("one\r", "two\udcff")
    assert split_lines(content) == [b"one\r", b"two\xff", b"", b"four"]
    assert split_lines(b"one\n") == [b"one"]
    assert same_lines(split_lines(content), Lines("f", 2, 3), ["two\udcff", ""])
    assert not same_lines(split_lines(content), Lines("f", 2, 3), ["two\udcff"])
    for place, bytes_, kind in (
        (Lines("f", 1, 5), content, Invalid), (Lines("f", 1, 1), b"\0", Invalid),
        (Lines("f", 1, 1), None, NotFound),
    ):  # fmt: skip
        with pytest.raises(kind):
            quoted_lines(place, bytes_, label="x")
