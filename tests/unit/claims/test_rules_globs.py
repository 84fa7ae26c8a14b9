"""Whether two patterns may have a path in common, compared with trying every short path."""

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitworker.claims.rules_globs import overlap, parse_pattern
from gitworker.errors import Invalid

NAMES = ["".join(name) for size in (1, 2) for name in itertools.product("ab", repeat=size)]
PATHS = ["/".join(path) for size in range(1, 5) for path in itertools.product(NAMES, repeat=size)]
TOKENS = {
    "a": "a",
    "b": "b",
    "?": "[^/]",
    "*": "[^/]*",
    "[a]": "a",
    "[!a]": "[^a/]",
    "[a-b]": "[ab]",
}
# Two tokens at most, so that a common component needs two characters at most; and at most three
# parts of each pattern, of which the shortest common path has four.
WORDS = st.lists(st.sampled_from(list(TOKENS)), min_size=1, max_size=2).map(tuple)
DEEP = ("**",)
PATTERNS = st.lists(st.one_of(st.just(DEEP), WORDS), min_size=1, max_size=2).map(tuple)


def spelled(pattern: tuple[tuple[str, ...], ...]) -> str:
    """Return a pattern as text; two adjacent stars are one."""
    words = ["**" if word == DEEP else re.sub(r"\*+", "*", "".join(word)) for word in pattern]
    return "/".join(words)


def claimed(pattern: str) -> set[str]:
    """Return the short paths that a pattern claims, by a regular expression for it."""
    words = pattern.split("/")
    text = ""
    for number, word in enumerate(words, 1):
        if word != "**":
            pieces = re.findall(r"\[[^]]*\]|.", word)
            text += "(?=[^/])" + "".join(TOKENS[piece] for piece in pieces)
            text += "/" if number < len(words) else ""
        else:
            text += "(?:[^/]+/)*" if number < len(words) else ".+"
    return {path for path in PATHS if re.fullmatch(f"{text}(?:/.*)?", path)}


@settings(max_examples=150, deadline=None)
@given(PATTERNS, PATTERNS)
def test_a_common_path_is_an_overlap(
    one: tuple[tuple[str, ...], ...], other: tuple[tuple[str, ...], ...]
) -> None:
    """Two patterns overlap if a path is claimed by both."""
    first, second = spelled(one), spelled(other)
    assert overlap(first, second) or not claimed(first) & claimed(second), (first, second)
    assert overlap(second, first) == overlap(first, second)


@pytest.mark.parametrize(
    ("one", "other", "common"),
    [
        ("src/auth/**", "src/auth/login.py", True),
        ("src/auth/**", "src/auth", True),
        ("src/auth", "src/auth/login.py", True),
        ("src/auth/", "src/auth/x", True),
        ("src/auth/**", "src/authors.py", False),
        ("src/*", "docs/*", False),
        ("src/*.py", "src/*.pyc", False),
        ("src/*.py", "src/a*", True),
        ("*.py", "src/a.py", False),
        ("**/*.py", "src/a.py", True),
        ("**", "anything", True),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z/d", True),
        ("a/**/z", "b/z", False),
        ("a/**/b/**/c", "a/c", True),
        ("a/**/b", "a/c", True),
        ("src/test_*", "src/main_*", False),
        ("src/x*.py", "src/x*.md", False),
        ("a*", "b", False),
        ("*.py", "setup.py", True),
        ("v[0-9]", "v[!0-9]", True),  # conservative: sets are not compared
        ("v[0-4]", "v[3-9]", True),
        ("[^a]", "a", True),
        ("[]a]", "]", True),
        ("[a-]", "-", True),
        (r"\*", "a", True),
        (r"\*", "*", True),
        (r"[\]]", "]", True),
        ("[!a][!b]", "??", True),
        ("?", "??", True),
        ("é*", "é", True),
        ("[+-9]", "[+-9]", True),
    ],
)
def test_pairs(one: str, other: str, common: bool) -> None:
    """Patterns mean the same as in gitignore, and include everything below a match."""
    assert overlap(one, other) is common
    assert overlap(other, one) is common


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("/etc", "root"),
        ("a//b", "root"),
        ("../x", "root"),
        ("./x", "root"),
        ("", "root"),
        ("[a", "']'"),
        ("[", "']'"),
        ("[]", "']'"),
        ("a[b/c]", "']'"),
        ("a\\", "ends with"),
        ("[a\\", "']'"),
    ],
)
def test_bad_patterns(pattern: str, complaint: str) -> None:
    """A pattern that can match no path, or is incomplete, is refused."""
    with pytest.raises(Invalid, match=re.escape(complaint)):
        parse_pattern(pattern)
