"""Syntax colours of a diff, if Pygments is installed: spans with its own class names.

Each side of a hunk is coloured as a text of its own, so that strings of several lines stay whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from gitworker.rules_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gitworker.web.pages.work.shown_changes import DiffLine, ShownFile, ShownHunk

LINES_AT_MOST = 3000  # of one file; colours cost 20 ms for each thousand


def painted(file: ShownFile) -> list[list[Markup]]:
    """Return the text of each line of each hunk as HTML."""
    size = sum(len(hunk.lines) for hunk in file.hunks)
    lexer = _find_lexer(file.path) if size <= LINES_AT_MOST else None
    return [_hunk(hunk, lexer) for hunk in file.hunks]


def _hunk(hunk: ShownHunk, lexer: Any) -> list[Markup]:
    if lexer is None:
        return [escape(printable(line.text)) for line in hunk.lines]
    old = iter(_colored([line for line in hunk.lines if line.kind in ("del", "same")], lexer))
    new = iter(_colored([line for line in hunk.lines if line.kind in ("add", "same")], lexer))
    found = []
    for line in hunk.lines:
        sides = {"del": (old,), "add": (new,), "same": (old, new)}.get(line.kind, ())
        texts = [next(side) for side in sides]
        found.append(texts[-1] if texts else escape(printable(line.text)))
    return found


def _colored(lines: Sequence[DiffLine], lexer: Any) -> list[Markup]:
    """Return lines as HTML; as plain text if the lexer changes their number."""
    from pygments.token import STANDARD_TYPES

    texts = [printable(line.text) for line in lines]
    found, row = [], Markup()
    for kind, value in lexer.get_tokens("\n".join(texts) + "\n"):
        name = STANDARD_TYPES.get(kind, "")
        first, *others = value.split("\n")
        row += _span(name, first)
        for part in others:
            found.append(row)
            row = _span(name, part)
    return found if len(found) == len(texts) else [escape(text) for text in texts]


def _span(name: str, text: str) -> Markup:
    if not text or not name:
        return escape(text)
    return Markup('<span class="{}">{}</span>').format(name, text)


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
