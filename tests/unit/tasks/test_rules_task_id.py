"""The id of a task without one: a slug of its words, or two words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitworker.model.ids import parse_task_id
from gitworker.tasks.rules_task_id import (
    ADJECTIVES,
    LENGTH_MAX,
    NOUNS,
    free_task_id,
    slug_of,
    two_words,
)

SLUGS = [
    ("Build the login form", "", "build-the-login-form"),
    ("Build the login form", "Something else", "build-the-login-form"),
    ("", "Build the login form\n\nwith tests", "build-the-login-form"),
    ("", "\r\n\n  ---\n# Fix issue #12: crash!\nmore", "fix-issue-12-crash"),
    ("  !!!  ", "Text", "text"),
    ("Don't use foo_bar() in v1.2", "", "dont-use-foo-bar-in-v1-2"),
    ("Größe der Straße", "", "grosse-der-strasse"),
    ("Übergröße, naïve café, Łódź, æsir, søren", "", "ubergrosse-naive-cafe-lodz-aesir-soren"),
    ("İstanbul’da", "", "istanbulda"),
    ("½ price ﬁx", "", "1-2-price-fix"),
    ("日本語のフォーム", "", None),
    ("日本語 login", "", "login"),
    ("", "", None),
    ("", "\n\n\t", None),
    ("🦀", "🦀🦀", None),
    ("a.lock", "", "a-lock"),
    ("..", "", None),
    ("-x --force", "", "x-force"),
    ("one two three four five six seven eight nine ten eleven", "",
     "one-two-three-four-five-six-seven-eight-nine-ten"),
    ("x" * 80, "", "x" * 50),
    ("word " + "y" * 80, "", "word"),
    ("w" * 20_000_000, "", "w" * 50),
    ("", "Call it with sk-ant-abcdefghijklmnop now", "call-it-with-now"),
    ("sk-ant-abcdefghijklmnop", "Use it", "use-it"),
]  # fmt: skip


@pytest.mark.parametrize(("title", "text", "slug"), SLUGS)
def test_slug(title: str, text: str, slug: str | None) -> None:
    """The id is made of the title, else of the first line with letters or digits."""
    assert slug_of(title, text) == slug


@given(st.text(), st.text())
def test_every_slug_is_a_task_id(title: str, text: str) -> None:
    """A slug of any text is a valid task id of at most 50 characters."""
    slug = slug_of(title, text)
    assert slug is None or (parse_task_id(slug) == slug and len(slug) <= LENGTH_MAX)


FREE = [
    ("form", [], "form"),
    ("form", ["other"], "form"),
    ("form", ["form"], "form-2"),
    ("form", ["Form", "form-2", "form-4"], "form-3"),
    ("hq", [], "hq-2"),
    ("x" * 50, ["x" * 50], "x" * 48 + "-2"),
    ("x" * 47 + "-yz", ["x" * 47 + "-yz"], "x" * 47 + "-2"),
    ("a", ["a", *(f"a-{n}" for n in range(2, 100))], "a-100"),
]


@pytest.mark.parametrize(("wanted", "taken", "found"), FREE)
def test_free_task_id(wanted: str, taken: list[str], found: str) -> None:
    """A taken id gets the first free number, in any letter case, within 50 characters."""
    assert free_task_id(wanted, taken) == found


def test_two_words() -> None:
    """Every number gives two words that are a task id, and small numbers give different ones."""
    every = {two_words(number) for number in range(len(ADJECTIVES) * len(NOUNS))}
    assert len(every) == len(ADJECTIVES) * len(NOUNS)
    assert all(parse_task_id(one).count("-") == 1 for one in every)
    assert two_words(2**64 - 1) in every
