"""The lines of a hunk as rows of a table: numbers, syntax colours, and the words that differ.

Pygments needs a second for 10,000 lines, so the newest rows are kept in memory, compressed to a
tenth.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

from gitworker.review.page.colors import find_lexer, parts_of, tokens_of
from gitworker.review.page.rules_words import changed_words, side_by_side
from gitworker.review.page.shown_changes import NOTE, SAME
from gitworker.rules_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gitworker.review.comments.anchors import Anchored
    from gitworker.review.page.colors import Token
    from gitworker.review.page.rules_words import Range
    from gitworker.review.page.shown_changes import DiffLine, ShownFile, ShownHunk

NO_WORDS = (0, 0)
COLORED_AT_MOST = 3000  # lines of one file
KEPT_BYTES = 1_000_000  # about 25,000 lines
BETWEEN = "\0"  # no row has it, because `printable` escapes it
FAST = 1  # the level of compression


class Rows(NamedTuple):
    """Some rows as HTML, and the comments that end on the last one."""

    html: Markup
    said: tuple[Anchored, ...]


class RowCache:
    """The newest rows of hunks; safe in threads."""

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[object, ...], bytes] = OrderedDict()
        self._size = 0

    def rows(self, file: ShownFile, hunk: ShownHunk, *, is_sided: bool) -> Iterator[Rows]:
        """Yield the rows of a hunk, cut after each line with comments."""
        has_colors = sum(len(one.lines) for one in file.hunks) <= COLORED_AT_MOST
        key = (hunk.id, hunk.place, is_sided, has_colors)  # the id covers the path and all lines
        found = self._find(key)
        if found is None:
            found = _made(hunk, find_lexer(file.path) if has_colors else None, is_sided=is_sided)
            self._keep(key, found)
        said = _sides(hunk.lines) if is_sided else (one.said for one in hunk.lines)
        start = 0
        for at, comments in enumerate(said, 1):
            if comments or at == len(found):
                yield Rows(Markup("".join(found[start:at])), comments)
                start = at

    def _find(self, key: tuple[object, ...]) -> list[str] | None:
        with self._lock:
            packed = self._kept.get(key)
            if packed is None:
                return None
            self._kept.move_to_end(key)
        return zlib.decompress(packed).decode("utf-8", "surrogatepass").split(BETWEEN)

    def _keep(self, key: tuple[object, ...], rows: Sequence[str]) -> None:
        packed = zlib.compress(BETWEEN.join(rows).encode("utf-8", "surrogatepass"), FAST)
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = packed
            self._size += len(packed)
            while self._size > self._limit:
                _, oldest = self._kept.popitem(last=False)
                self._size -= len(oldest)


def _sides(lines: Sequence[DiffLine]) -> Iterator[tuple[Anchored, ...]]:
    """Yield the comments of each row of two columns."""
    for old, new in side_by_side([one.kind for one in lines]):
        said = () if old is None else lines[old].said
        yield said + (() if new is None or new == old else lines[new].said)


def _made(hunk: ShownHunk, lexer: Any, *, is_sided: bool) -> list[str]:
    """Return the rows of a hunk, without comments."""
    texts = [(line.kind, printable(line.text)) for line in hunk.lines]
    words = changed_words(texts)
    tokens = enumerate(tokens_of(texts, lexer))
    codes = [_code(one, words.get(number, NO_WORDS)) for number, one in tokens]
    if not is_sided:
        pairs = zip(hunk.lines, codes, strict=True)
        return [_row(line, code) for line, code in pairs]
    kinds = [one.kind for one in hunk.lines]
    return [_side_row(hunk.lines, codes, old, new) for old, new in side_by_side(kinds)]


def _row(line: DiffLine, code: str) -> str:
    return (
        f'<tr class="{line.kind}"><td class="no old">{line.old or ""}</td>'
        f'<td class="no new">{line.new or ""}</td><td class="code">{code}</td></tr>\n'
    )


def _side_row(lines: Sequence[DiffLine], codes: Sequence[str], old: Any, new: Any) -> str:
    """Return the row of an old and a new line, by their indices; None is an empty place."""
    before, after = (None if at is None else lines[at] for at in (old, new))
    last = after or before
    assert last is not None
    if last.kind == NOTE:
        return f'<tr class="{NOTE}"><td class="code" colspan="4">{codes[new]}</td></tr>\n'
    left, right = (at is not None and codes[at] for at in (old, new))
    is_pair = before is not None and after is not None and last.kind != SAME
    return (
        f'<tr class="{last.kind}{" pair" if is_pair else ""}">'
        f'<td class="no old">{(before and before.old) or ""}</td>'
        f'<td class="code was{"" if before else " none"}">{left or ""}</td>'
        f'<td class="no new">{(after and after.new) or ""}</td>'
        f'<td class="code{"" if after else " none"}">{right or ""}</td></tr>\n'
    )


def _code(tokens: Sequence[Token], words: Range) -> str:
    """Return the text of a line as HTML."""
    found = []
    for kind, is_word, part in parts_of(tokens, words):
        html = f"<mark>{escape(part)}</mark>" if is_word else f"{escape(part)}"
        found.append(f'<span class="{kind}">{html}</span>' if kind else html)
    return "".join(found)
