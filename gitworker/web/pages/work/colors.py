"""The words that differ, and syntax colours if Pygments is installed, as HTML.

Each side of a hunk is coloured as a text of its own, so that strings of several lines stay whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from gitworker.review.page.rules_words import changed_words, split_at
from gitworker.rules_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gitworker.review.page.rules_words import Range
    from gitworker.review.page.shown_changes import ShownFile, ShownHunk

    Token = tuple[str, str]  # the class of a colour, and the text

NO_WORDS = (0, 0)
LINES_AT_MOST = 3000  # of one file; colours cost 20 ms for each thousand


def painted(file: ShownFile) -> list[list[Markup]]:
    """Return the text of each line of each hunk as HTML; words that differ are marked."""
    size = sum(len(hunk.lines) for hunk in file.hunks)
    lexer = _find_lexer(file.path) if size <= LINES_AT_MOST else None
    return [_hunk(hunk, lexer) for hunk in file.hunks]


def _hunk(hunk: ShownHunk, lexer: Any) -> list[Markup]:
    texts = [(line.kind, printable(line.text)) for line in hunk.lines]
    words = changed_words(texts)
    tokens = [[("", text)] for _, text in texts] if lexer is None else _tokens(texts, lexer)
    return [_html(row, words.get(number, NO_WORDS)) for number, row in enumerate(tokens)]


def _tokens(texts: Sequence[tuple[str, str]], lexer: Any) -> list[list[Token]]:
    """Return the coloured parts of each line."""
    old = iter(_colored([text for kind, text in texts if kind in ("del", "same")], lexer))
    new = iter(_colored([text for kind, text in texts if kind in ("add", "same")], lexer))
    found = []
    for kind, text in texts:
        sides = {"del": (old,), "add": (new,), "same": (old, new)}.get(kind, ())
        rows = [next(side) for side in sides]
        found.append(rows[-1] if rows else [("", text)])
    return found


def _colored(texts: Sequence[str], lexer: Any) -> list[list[Token]]:
    """Return lines as coloured parts; without colours if the lexer changes the text."""
    from pygments.token import STANDARD_TYPES

    found: list[list[Token]] = []
    row: list[Token] = []
    for kind, value in lexer.get_tokens("\n".join(texts) + "\n"):
        name = STANDARD_TYPES.get(kind, "")
        first, *others = value.split("\n")
        row.append((name, first))
        for part in others:
            found.append(row)
            row = [(name, part)]
    is_same = ["".join(text for _, text in one) for one in found] == list(texts)
    return found if is_same else [[("", text)] for text in texts]


def _html(row: Sequence[Token], words: Range) -> Markup:
    found, at = Markup(), 0
    for name, text in row:
        for is_word, part in split_at(text, words[0] - at, words[1] - at):
            html = Markup("<mark>{}</mark>").format(part) if is_word else escape(part)
            found += Markup('<span class="{}">{}</span>').format(name, html) if name else html
        at += len(text)
    return found


def _find_lexer(name: str) -> Any:
    """Return the lexer for a file's name; None without one, and without Pygments."""
    try:
        from pygments.lexers import get_lexer_for_filename  # 40 ms, and only a diff needs it
        from pygments.util import ClassNotFound
    except ImportError:
        return None
    try:
        return get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
