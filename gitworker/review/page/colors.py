"""The coloured parts of the lines of a diff, if Pygments is installed; see `find_lexer`.

A part has the short name of its kind by Pygments, such as `k` for a keyword; it is empty without a
colour. Each side is coloured as a text of its own, so that strings of several lines stay whole.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.review.page.rules_words import split_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitworker.review.page.rules_words import Range

    Token = tuple[str, str]  # the kind, and the text

LEXERS_KEPT = 500
GLOB = re.compile(r"[*?\[]")
EXACT = 0.5  # how much better than the others a lexer is that names the file, for Pygments


class ColoredPart(NamedTuple):
    """A part of a line; `is_word`: it differs from the other version of the line."""

    kind: str
    is_word: bool
    text: str


@lru_cache(LEXERS_KEPT)
def find_lexer(name: str) -> Any:
    """Return Pygments' own lexer for a file's name; None without one, and without Pygments.

    It is the one that `get_lexer_for_filename` returns. That function compiles a thousand patterns
    and searches all installed packages for further lexers: three times the time, and 5 MiB more.
    """
    try:
        from pygments.lexers import find_lexer_class, get_all_lexers
    except ImportError:
        return None
    base = os.path.basename(name)
    found = []
    for lexer, _, patterns, _ in get_all_lexers(plugins=False):
        for pattern in patterns:
            if _has_pattern(base, pattern):
                kind = find_lexer_class(lexer)
                found.append((kind.priority + EXACT * ("*" not in pattern), kind.__name__, kind))
    if not found:
        return None
    return max(found, key=lambda one: one[:2])[2](stripnl=False, ensurenl=False)


def _has_pattern(name: str, pattern: str) -> bool:
    """Return whether a name has a pattern of the shell; the usual `*.ext` is a comparison."""
    tail = pattern.removeprefix("*")
    if GLOB.search(tail):
        return fnmatchcase(name, pattern)
    return name == pattern if tail == pattern else name.endswith(tail)


def load_lexers(names: Iterable[str]) -> None:
    """Find the lexers of some files early, as far as they are kept: the first one is slow."""
    for name in islice(names, LEXERS_KEPT):
        find_lexer(name)


def tokens_of(lines: Sequence[tuple[str, str]], lexer: Any) -> list[list[Token]]:
    """Return the coloured parts of each line; `lines` are kind and text."""
    if lexer is None:
        return [[("", text)] for _, text in lines]
    old, new = (_side(lines, kind, lexer) for kind in ("del", "add"))
    return [new.get(at) or old.get(at) or [("", text)] for at, (_, text) in enumerate(lines)]


def parts_of(tokens: Sequence[Token], words: Range) -> Iterator[ColoredPart]:
    """Yield the parts of a line, also cut at the range that differs."""
    at = 0
    for kind, text in tokens:
        for is_word, part in split_at(text, words[0] - at, words[1] - at):
            yield ColoredPart(kind, is_word, part)
        at += len(text)


def _side(lines: Sequence[tuple[str, str]], kind: str, lexer: Any) -> dict[int, list[Token]]:
    """Return the lines of one side by their number; the old side only if it has lines of its own.

    A line of both sides has the colours of the new one.
    """
    if kind == "del" and all(one != kind for one, _ in lines):
        return {}
    on = [at for at, (one, _) in enumerate(lines) if one in (kind, "same")]
    return dict(zip(on, _lexed([lines[at][1] for at in on], lexer), strict=True))


def _lexed(texts: Sequence[str], lexer: Any) -> list[list[Token]]:
    """Return lines as coloured parts; without colours if the lexer changes the text."""
    from pygments.token import STANDARD_TYPES

    found: list[list[Token]] = []
    row: list[Token] = []
    try:
        tokens = list(lexer.get_tokens("\n".join(texts) + "\n"))
    except Exception:  # noqa: BLE001 -- a bug of a lexer must not hide the changes
        tokens = []
    for kind, value in tokens:
        name = STANDARD_TYPES.get(kind, "")
        first, *others = value.split("\n")
        if first:
            row.append((name, first))
        for part in others:
            found.append(row)
            row = [(name, part)] if part else []
    is_same = ["".join(text for _, text in one) for one in found] == list(texts)
    return found if is_same else [[("", text)] for text in texts]
