"""The words that differ between a deleted line and the added line that replaces it."""

from gitworker.review.page.rules_words import changed_words, side_by_side, split_at


def test_the_words_of_a_replaced_line() -> None:
    """Only the words that differ are marked, on both sides; an insertion on the new side only."""
    lines = [
        ("same", "x"), ("del", "call(one, two)"), ("del", "return value"),
        ("add", "call(one, three)"), ("add", "return value, other"), ("same", "y"),
    ]  # fmt: skip
    found = changed_words(lines)
    parts = {number: lines[number][1][start:end] for number, (start, end) in found.items()}
    assert parts == {1: "two", 3: "three", 2: "", 4: ", other"}


def test_words_that_repeat() -> None:
    """The words at the beginning and those at the end do not overlap."""
    assert changed_words([("del", "a a"), ("add", "a a a")]) == {0: (3, 3), 1: (3, 5)}


def test_lines_without_a_similar_one() -> None:
    """A line that was only added or deleted, is too different, or too long, has no marks."""
    assert changed_words([("del", "one"), ("same", "x"), ("add", "one")]) == {}
    assert changed_words([("add", "one two"), ("del", "one three")]) == {}
    assert changed_words([("del", "abc def"), ("add", "something else entirely")]) == {}
    assert changed_words([("del", "x" * 501), ("add", "x" * 501)]) == {}
    assert changed_words([("del", ""), ("add", "")]) == {0: (0, 0), 1: (0, 0)}


def test_parts_of_a_text() -> None:
    """The parts of a text are in its order; a range may begin before it and end behind it."""
    assert list(split_at("abc", 1, 2)) == [(False, "a"), (True, "b"), (False, "c")]
    assert list(split_at("abc", -2, 1)) == [(True, "a"), (False, "bc")]
    assert list(split_at("abc", 2, 9)) == [(False, "ab"), (True, "c")]
    assert list(split_at("abc", 5, 9)) == [(False, "abc")]
    assert list(split_at("abc", -9, -5)) == [(False, "abc")]
    assert list(split_at("", 0, 0)) == []


def test_two_columns() -> None:
    """A replaced line shares a row with its new version; other lines leave a place empty."""
    kinds = ["same", "del", "del", "add", "same", "add", "note", "del"]
    rows = [(0, 0), (1, 3), (2, None), (4, 4), (None, 5), (6, 6), (7, None)]
    assert list(side_by_side(kinds)) == rows
    assert list(side_by_side([])) == []
