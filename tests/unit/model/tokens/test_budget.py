"""A budget that is used up, in words, with the command that raises it."""

import pytest

from gitworker.errors import Invalid
from gitworker.model.tokens.budget import Spent, parse_tokens, spent_project, spent_task


@pytest.mark.parametrize(
    ("text", "number"), [("1,500", 1500), ("500k", 500_000), ("1.5M", 1_500_000), ("2g", 2 * 10**9)]
)
def test_numbers_of_tokens(text: str, number: int) -> None:
    """A number may have separators and one unit."""
    assert parse_tokens(text) == number


@pytest.mark.parametrize("text", ["", "k", "much", "-1", "nan", "inf", "0.5", "2000000g"])
def test_other_texts_are_no_numbers_of_tokens(text: str) -> None:
    """A text that is no whole number within bounds is refused."""
    with pytest.raises(Invalid, match="is not a number of tokens"):
        parse_tokens(text)


@pytest.mark.parametrize(("used", "budget"), [(0, None), (10**9, None), (999, 1000)])
def test_tokens_are_left(used: int, budget: int | None) -> None:
    """Nothing is used up without a budget, or below it."""
    assert spent_task("t1", used, budget) is spent_project("web", used, budget) is None


def test_a_used_budget_names_its_command() -> None:
    """A budget is used up as soon as the last of its tokens is."""
    assert spent_task("t1", 1000, 1000) == Spent(
        "task t1 has used 1,000 of its 1,000 tokens", "git worker task edit t1 --budget <number>"
    )
    assert spent_project("web", 1001, 1000) == Spent(
        "project web has used 1,001 of its 1,000 tokens",
        "git worker project edit web --budget <number>",
    )
