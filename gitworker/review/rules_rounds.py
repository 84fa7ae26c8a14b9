"""Decisions about the comparison of two rounds. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gitworker.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

SAME = re.compile(r"^ *\d+: +[0-9a-f]+ = +\d+: +[0-9a-f]+ ")
ADDED = re.compile(r"^ *-: +-+ > +\d+: +([0-9a-f]+) ")
SPELLING = re.compile(r"(\d{1,9})(?:\.\.(\d{1,9}))?")


def parse_rounds(text: str) -> tuple[int, int | None]:
    """Return `N..M` or `N` (to the newest round) as numbers; raise Invalid for other texts."""
    found = SPELLING.fullmatch(text)
    if found is None:
        raise Invalid(f"{ascii(text)[:80]} is not N..M", "git worker review diff -h", code="usage")
    return int(found[1]), int(found[2]) if found[2] else None


def has_same_commits(old: Sequence[Sequence[str]], new: Sequence[Sequence[str]]) -> bool:
    """Return whether commits have the same patches, authors and messages; their ids are first."""
    return [one[1:] for one in old] == [one[1:] for one in new]


def added_commit(line: str) -> str | None:
    """Return the id of the commit that only the newer version has, from a line of range-diff."""
    found = ADDED.match(line)
    return found[1] if found else None


def without_same(text: str) -> str:
    """Return the output of git range-diff without the commits that are equal."""
    return "\n".join(line for line in text.split("\n") if not SAME.match(line)).strip("\n")
