"""The words that differ, and syntax colours if Pygments is installed, as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from gitworker.review.page.colors import find_lexer, parts_of, tokens_of
from gitworker.review.page.rules_words import changed_words
from gitworker.rules_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gitworker.review.page.colors import Token
    from gitworker.review.page.rules_words import Range
    from gitworker.review.page.shown_changes import ShownFile, ShownHunk

NO_WORDS = (0, 0)
LINES_AT_MOST = 3000  # of one file; colours cost 20 ms for each thousand


def painted(file: ShownFile) -> list[list[Markup]]:
    """Return the text of each line of each hunk as HTML; words that differ are marked."""
    size = sum(len(hunk.lines) for hunk in file.hunks)
    lexer = find_lexer(file.path) if size <= LINES_AT_MOST else None
    return [_hunk(hunk, lexer) for hunk in file.hunks]


def _hunk(hunk: ShownHunk, lexer: Any) -> list[Markup]:
    texts = [(line.kind, printable(line.text)) for line in hunk.lines]
    words = changed_words(texts)
    rows = enumerate(tokens_of(texts, lexer))
    return [_html(row, words.get(number, NO_WORDS)) for number, row in rows]


def _html(row: Sequence[Token], words: Range) -> Markup:
    found = Markup()
    for kind, is_word, part in parts_of(row, words):
        html = Markup("<mark>{}</mark>").format(part) if is_word else escape(part)
        found += Markup('<span class="{}">{}</span>').format(kind, html) if kind else html
    return found
