"""Whether two patterns of paths may match the same path. Pure.

A pattern is gitignore(5)'s: `*`, `?` and `[...]` within one component, `**` as a component for any
number of them, `\\` before a character that is literal. A pattern claims the paths that it matches
and everything below them. The comparison is conservative: patterns whose literal parts agree count
as overlapping, even if no path matches both.
"""

import re
from functools import lru_cache

from gitworker.errors import Invalid

WILD = re.compile(r"[*?\[\]\\]")
HALF = re.compile(r"(?:[^\[\\]|\\.|\[[!^]?(?:\\.|[^\\])(?:\\.|[^\]\\])*\])*")


@lru_cache(maxsize=1024)
def overlap(one: str, other: str) -> bool:
    """Return whether some path may match both patterns; raise Invalid for a bad pattern."""
    for left, right in zip(parse_pattern(one), parse_pattern(other), strict=False):
        if "**" in (left, right):
            return True
        if not _may_meet(left, right):
            return False
    return True  # one claims everything below the other


def parse_pattern(text: str) -> tuple[str, ...]:
    """Return the components of a pattern; raise Invalid if it matches no path in a repository."""
    words = tuple(text.removesuffix("/").split("/"))
    if not {"", ".", ".."}.isdisjoint(words):
        raise Invalid(
            f"the pattern {text!r} is not relative to the repository's root: it must not begin"
            " with '/' or have an empty component, '.' or '..'",
            "git worker claim take 'path:src/**'",
        )
    for word in words:
        if not HALF.fullmatch(word):
            raise Invalid(f"the pattern {text!r} has a '[' without its ']', or ends with a '\\'")
    return words


def _may_meet(one: str, other: str) -> bool:
    """Return whether a name may match both components, judged by their first and last literals."""
    heads = WILD.split(one)[0], WILD.split(other)[0]
    tails = WILD.split(one)[-1], WILD.split(other)[-1]
    if heads[0] == one and heads[1] == other:
        return one == other
    return _agree(*heads) and _agree(tails[0][::-1], tails[1][::-1])


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
