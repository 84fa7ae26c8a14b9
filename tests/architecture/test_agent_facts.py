"""docs/agent-facts.md names the tests of the facts about agents, and the rows of the hooks."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.real.test_hook_facts import FACTS
from tests.architecture.house import ROOT

PAGE = ROOT / "docs" / "agent-facts.md"
TESTS = ROOT / "tests" / "agents" / "real"
NAMED = re.compile(r"`(?P<file>[\w/]+\.py)::(?P<test>test_\w+)`")
PLACE = re.compile(r"`(?P<place>gitworker/[\w/.]+)`")


def missing_tests(text: str) -> Iterator[str]:
    """Yield the tests that a text names and that do not exist."""
    found = [*NAMED.finditer(text)]
    assert found, "no test is named"
    for one in found:
        path = ROOT / one["file"] if "/" in one["file"] else TESTS / one["file"]
        if not path.is_file() or f"\ndef {one['test']}(" not in path.read_text():
            yield one[0]


def missing_rows(text: str, facts: dict[str, list[str]]) -> Iterator[str]:
    """Yield the facts, by their agents, that have no row of these words in a text."""
    for agent, rows in facts.items():
        for row in rows:
            wanted = re.compile(rf"^\| (?:all five|.*\b{agent}\b.*) \| {re.escape(row)} \|$", re.M)
            if not wanted.search(text):
                yield f"{agent}: {row}"


def test_named_tests_exist() -> None:
    """Every test that the page names exists."""
    assert [*missing_tests(PAGE.read_text())] == []


def test_rows_are_those_of_the_test() -> None:
    """Every fact that the test of the hooks checks has a row, for its agent."""
    facts = {agent: [*rows] for agent, rows in FACTS.items()}
    assert [*missing_rows(PAGE.read_text(), facts)] == []


def test_places_exist() -> None:
    """Every file and directory of ours that the page names exists."""
    places = [Path(one["place"]) for one in PLACE.finditer(PAGE.read_text())]
    assert places
    assert [str(one) for one in places if not (ROOT / one).exists()] == []


def test_violations_are_found() -> None:
    """A test that does not exist, a missing row and a page without tests are reported."""
    assert [*missing_tests("`test_facts.py::test_nothing`")] == ["`test_facts.py::test_nothing`"]
    assert [*missing_rows("| codex | a fact |\n", {"qwen": ["a fact"], "codex": ["a fact"]})] == [
        "qwen: a fact"
    ]
    with pytest.raises(AssertionError, match="no test is named"):
        [*missing_tests("")]
