"""The rules of search: the query for the typed words, and the searched text of a message."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.bus.search.rules_search import (
    TEXT_MAX,
    WORDS_MAX,
    match_expression,
    plain_text,
    searchable,
    snippet,
)
from gitworker.errors import Invalid


@pytest.mark.parametrize(
    ("words", "expression"),
    [
        (["login"], '"login"'),
        (["login", "failed"], '"login" AND "failed"'),
        (["exit status"], '"exit status"'),
        (["pars*"], '"pars"*'),
        (['say "hi"'], '"say ""hi"""'),
        (["a", "!!!", "b"], '"a" AND "b"'),
        (["OR", "NEAR(x)"], '"OR" AND "NEAR(x)"'),
        (["a\0b"], '"a b"'),
    ],
)
def test_expressions(words: list[str], expression: str) -> None:
    """Words are quoted, so that only a last `*` is an operator."""
    assert match_expression(words) == expression


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "no word"),
        (["***", '"'], "no word"),
        (["a"] * (WORDS_MAX + 1), "too many"),
        (["\udcff a"], "UTF-8"),
    ],
)
def test_nothing_to_search_for(words: list[str], complaint: str) -> None:
    """An input without a word, or that is not text, is refused."""
    with pytest.raises(Invalid, match=complaint):
        match_expression(words)


@given(st.lists(st.text(max_size=20), max_size=6))
def test_quotes_are_balanced(words: list[str]) -> None:
    """For any input the quotes of the query are balanced."""
    try:
        expression = match_expression(words)
    except Invalid:
        return
    assert expression.count('"') % 2 == 0


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ('{"step": "tests\\npass", "n": [1, null, true]}', "step tests\npass n 1 True"),
        ('"\\u00fc"', "ü"),
        ("null", ""),
        ("no json", "no json"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_plain_text(payload: str, text: str) -> None:
    """A payload is searched by its keys and values; one that is not JSON by its text."""
    assert plain_text(payload) == text


def test_a_very_large_payload() -> None:
    """Only the beginning of a very large payload is searched."""
    assert plain_text(json.dumps("a" * TEXT_MAX)) == '"' + "a" * (TEXT_MAX - 1)


def test_searchable() -> None:
    """A message is found by its fields and its payload, and lone surrogates do no harm."""
    assert searchable(["task_done", None, "auth"], '"\\ud800x"') == "task_done\nauth\n?x"
    assert searchable(["log"], None) == "log"


@pytest.mark.parametrize(
    ("text", "words", "part"),
    [
        ("short text", ["text"], "short text"),
        ("a  b\n c", ["c"], "a b c"),
        (
            "x" * 100 + " Needle " + "y" * 200,
            ["needle"],
            "…" + "x" * 39 + " Needle " + "y" * 73 + "…",
        ),
        ("z" * 130, ["absent", "*"], "z" * 120 + "…"),
        ("", ["a"], ""),
    ],
)
def test_snippets(text: str, words: list[str], part: str) -> None:
    """A snippet is one line around the first match."""
    assert snippet(text, words) == part
