"""The tokens of a run by quarters of an hour."""

import pytest

from gitworker.model.tokens.token_times import QUARTER_MS, add_tokens, read_times


def test_tokens_are_added_to_their_quarter() -> None:
    """Reports of one quarter add up; a sum that was corrected adds nothing."""
    text = add_tokens("[]", 5, 10 * QUARTER_MS + 7)
    text = add_tokens(text, 2, 11 * QUARTER_MS - 1)
    text = add_tokens(text, 1, 11 * QUARTER_MS)
    text = add_tokens(text, -4, 12 * QUARTER_MS)
    assert read_times(text) == [(10 * QUARTER_MS, 7), (11 * QUARTER_MS, 1)]


@pytest.mark.parametrize("text", ["", "{}", "[1]", "[[1, 2, 3]]", "x", '[["a", 1]]'])
def test_a_foreign_text_has_no_times(text: str) -> None:
    """What another program has written there is left out."""
    assert read_times(text) == []
