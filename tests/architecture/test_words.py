"""House rule on words: how often words that hide their subject may occur in each tree.

A limit counts whole words per 1,000 lines of the tracked text files of one tree.
"""

import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest

from tests.architecture.house import ROOT

TREES = {
    "code": ("gitworker", "githooks", "scripts", ".ci", "Makefile"),
    "tests": ("tests", "benchmarks", "fixtures"),
    "docs": ("docs", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"),
}
THIS_FILE = "tests/architecture/test_words.py"  # it quotes the words
SQL_KEYWORD = re.compile(r"\bWHERE\b")


@dataclass(frozen=True, slots=True)
class Limit:
    """A group of words, its limit per 1,000 lines, and the words to use instead."""

    words: str
    per_thousand: float
    instead: str
    ignore_case: bool = True

    @property
    def pattern(self) -> re.Pattern[str]:
        """Return the expression that finds one of the words as a whole word."""
        return re.compile(rf"\b(?:{self.words})\b", re.IGNORECASE if self.ignore_case else 0)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text file; `place` is its path and number."""

    place: str
    text: str


LIMITS = (
    Limit("what", 4, 'a noun: "the change", "records that …"'),
    Limit("where", 6, '"if" for a condition'),
    Limit("goes|gone", 2, '"is deleted", "does not exist" or "ended"'),
    Limit("tell|told|tells", 0.5, "publish, report, record or show"),
    Limit(
        "somebody|nobody|whoever|anybody", 0.5, "the caller, a user, another command or no worker"
    ),
    Limit("stands", 0.3, '"is", "remains" or "is stacked on"'),
    Limit("anew", 0, "again, rewrite or rebuild"),
    # `is None` is Python
    Limit("is none|are none", 0, '"does not exist" or "is not a …"', ignore_case=False),
    Limit("beaten", 0, '"has a heartbeat"'),
)


def read_lines(tree: str) -> Iterator[Line]:
    """Yield every line of the tracked text files of a tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *TREES[tree]], cwd=ROOT, check=True, capture_output=True
    ).stdout
    for name in sorted(listed.decode().split("\0")):
        path = ROOT / name
        if name and name != THIS_FILE and path.is_file():
            content = path.read_bytes()
            if b"\0" not in content:
                for number, text in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
                    yield Line(f"{name}:{number}", text)


def find_overused(tree: str, lines: Iterable[Line], limit: Limit) -> list[str]:
    """Return a complaint for each line with a word that is used too often; none below the limit."""
    lines, pattern = tuple(lines), limit.pattern
    found: list[str] = []
    for line in lines:
        hits = pattern.findall(SQL_KEYWORD.sub("", line.text))
        found += [f"{line.place}: {line.text.strip()}"] * len(hits)
    if len(found) * 1000 <= limit.per_thousand * len(lines):
        return []
    count = f"{tree}: {limit.words}: {len(found)} in {len(lines)} lines"
    return [
        f"{count}, at most {limit.per_thousand} per 1,000", *dict.fromkeys(found),
        f"How to fix: write {limit.instead}",
    ]  # fmt: skip


@pytest.mark.parametrize("tree", TREES)
def test_words_stay_below_their_limits(tree: str) -> None:
    """Every tree keeps each word of the list below its limit."""
    lines = tuple(read_lines(tree))
    complaints = [text for limit in LIMITS for text in find_overused(tree, lines, limit)]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(("tree", "least"), [("code", 20_000), ("tests", 20_000), ("docs", 1_000)])
def test_every_part_of_a_tree_is_read(tree: str, least: int) -> None:
    """Every folder and file of a tree is read, so that the rule cannot pass over an empty list."""
    lines = tuple(read_lines(tree))
    assert len(lines) > least
    for part in TREES[tree]:
        assert any(line.place.startswith((f"{part}/", f"{part}:")) for line in lines), part


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.words)
def test_word_rule_finds_faults(limit: Limit) -> None:
    """A planted word over its limit is reported with its line, below the limit it is not."""
    plain = [Line(f"a.md:{number}", "The queue is empty.") for number in range(999)]
    for word in limit.words.split("|"):
        spelled = word.capitalize() if limit.ignore_case else word
        planted = Line("b.md:7", f"{spelled} " * (int(limit.per_thousand) + 1))
        found = find_overused("docs", [*plain, planted], limit)
        assert found[1] == f"b.md:7: {planted.text.strip()}"
        assert found[-1] == f"How to fix: write {limit.instead}"
    assert find_overused("docs", plain, limit) == []
    if limit.per_thousand >= 1:
        assert find_overused("docs", [*plain, Line("b.md:7", limit.words[:4])], limit) == []


@pytest.mark.parametrize("text", ["SELECT 1 WHERE 2", "if x is None:", "whatever", "understands"])
def test_word_rule_ignores_code_and_parts_of_words(text: str) -> None:
    """SQL keywords, Python's None and words that only contain a listed word do not count."""
    lines = [Line("a.py:1", text)] * 10
    assert [find_overused("code", lines, limit) for limit in LIMITS] == [[] for _ in LIMITS]
