"""The filter of the board."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from gitworker.observe.queue.board_filter import BoardFilter, parse_filter
from gitworker.observe.queue.worker_facts import CardFacts

LINE = cast("Any", SimpleNamespace(worker="auth", task="Login-Form", news=None))
FACTS = CardFacts(project="web", agent="claude")


def test_parts() -> None:
    """A known name with a colon is a value, and everything else is a word."""
    assert parse_filter("project:web Login x:y agent:") == BoardFilter(
        {"project": "web", "agent": ""}, ("login", "x:y")
    )


@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ("", True), ("login auth", True), ("AUTH", True), ("css", False), ("project:web", True),
        ("project:web agent:claude form", True), ("project:other", False), ("agent:", True),
        ("workstream:beta", False), ("project:web css", False),
    ],
)  # fmt: skip
def test_matches(text: str, is_shown: bool) -> None:
    """Every value and every word must match."""
    assert parse_filter(text).accepts(LINE, FACTS) == is_shown
