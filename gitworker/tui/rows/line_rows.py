"""The lines of a diff as rows. Words and colours are found for the lines that are shown only."""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from gitworker.observe.text_width import cut, width_of
from gitworker.review.page.colors import find_lexer, parts_of, tokens_of
from gitworker.review.page.rules_words import changed_words, pairs
from gitworker.review.page.shown_changes import ADD, DEL, NOTE
from gitworker.tui.rows.row import BAD, DIM, GOOD, WORD, Part, clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitworker.review.page.colors import Token
    from gitworker.review.page.rules_words import Range
    from gitworker.review.page.shown_changes import ShownHunk

SIGNS = {ADD: ("+", GOOD), DEL: ("-", BAD), NOTE: ("\\", DIM)}
# By the kinds of Pygments, the longest beginning first; other text has the colour of its line.
COLORS = {
    "c": "dim italic", "cp": "magenta", "cpf": "yellow", "k": "bold", "kc": "cyan", "ow": "bold",
    "s": "yellow", "dl": "yellow", "m": "cyan", "il": "cyan", "nc": "magenta", "nd": "magenta",
    "nf": "magenta", "fm": "magenta", "nt": "bold", "gh": "bold", "gu": "bold", "gs": "bold",
    "ge": "italic",
}  # fmt: skip
KIND_AT_MOST = 3
NO_WORDS = (0, 0)
MIDDLE = " │ "
STYLES_KEPT = 500
BLOCK, BLOCKS_KEPT = 50, 200  # lines that are coloured together: a block takes 5 to 10 ms
MARGIN = 25  # lines that a block may be longer, to end in front of a line without indentation
LENGTH_AT_MOST = 500  # of a line with colours, as of one whose words are compared


class LineKey(NamedTuple):
    """The key of a line; a side on which it does not exist is None."""

    path: str
    hunk: str
    old: int | None
    new: int | None
    at: int


def is_same_line(one: object, other: LineKey) -> bool:
    """Return whether a key is that of a line, in one column or beside its other version."""
    if not isinstance(one, LineKey) or (one.path, one.hunk) != (other.path, other.hunk):
        return False
    pairs_of = ((one.new, other.new), (one.old, other.old))
    return any(first is not None and first == second for first, second in pairs_of)


class ColorCache:
    """The coloured lines that were shown, by file, hunk and block; older ones are forgotten."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[str, str, int], list[list[Token]]] = {}

    def get(self, key: tuple[str, str, int]) -> list[list[Token]] | None:
        """Return the lines of a block."""
        return self._blocks.get(key)

    def put(self, key: tuple[str, str, int], lines: list[list[Token]]) -> None:
        """Keep the lines of a block."""
        if len(self._blocks) >= BLOCKS_KEPT:
            self._blocks.clear()
        self._blocks[key] = lines


class HunkLines:
    """The lines of a hunk with the words that differ, and their colours once they are made."""

    __slots__ = ("_ends", "_pairs", "_words", "colors", "digits", "hunk", "path")

    def __init__(self, path: str, hunk: ShownHunk, colors: ColorCache) -> None:
        last = hunk.lines[-1]
        self.path, self.hunk, self.colors = path, hunk, colors
        self.digits = max(len(str(last.old or 0)), len(str(last.new or 0)), 3)
        self._pairs: dict[int, tuple[int, int]] | None = None
        self._words: dict[int, dict[int, Range]] = {}
        self._ends: list[int] | None = None

    def text(self, at: int) -> str:
        """Return the text of a line."""
        return clean(self.hunk.lines[at].text)

    def parts(self, at: int) -> list[Part]:
        """Return the text of a line, with its words and with its colours if they are made."""
        style = SIGNS.get(self.hunk.lines[at].kind, (" ", ""))[1]
        tokens = self._tokens(at) or [("", self.text(at))]
        styled = (
            Part(text, style_of_part(kind, style, is_word=is_word))
            for kind, is_word, text in parts_of(tokens, self.words(at))
        )
        return [
            Part("".join(one.text for one in same), name)
            for name, same in groupby(styled, key=attrgetter("style"))
        ]

    def color(self, at: int) -> bool:
        """Make the colours of a line and of those around it; return whether they are new."""
        if self._tokens(at) is not None:
            return False
        start, end = self._block(at)
        lines = [(one.kind, clean(one.text)) for one in self.hunk.lines[start:end]]
        is_short = all(len(text) <= LENGTH_AT_MOST for _, text in lines)
        lexer = find_lexer(self.path) if is_short else None
        self.colors.put((self.path, self.hunk.id, start), tokens_of(lines, lexer))
        return lexer is not None

    def words(self, at: int) -> Range:
        """Return the range of a line that differs from its other version."""
        if self._pairs is None:
            known = list(pairs([one.kind for one in self.hunk.lines]))
            self._pairs = {number: both for both in known for number in both}
        both = self._pairs.get(at)
        if both is None:
            return NO_WORDS
        old, new = both
        if old not in self._words:
            found = changed_words([(DEL, self.text(old)), (ADD, self.text(new))])
            self._words[old] = found
        return self._words[old].get(both.index(at), NO_WORDS)

    def _tokens(self, at: int) -> Sequence[Token] | None:
        start, _ = self._block(at)
        found = self.colors.get((self.path, self.hunk.id, start))
        return None if found is None else found[at - start]

    def _block(self, at: int) -> tuple[int, int]:
        """Return the first line of the block of a line, and the line behind it."""
        if self._ends is None:
            self._ends = block_ends([one.text for one in self.hunk.lines])
        start = 0
        for end in self._ends:
            if at < end:
                return start, end
            start = end
        raise IndexError(at)


class LineRow:
    """A line of a diff as a row. It makes its parts when it is shown: most lines never are."""

    __slots__ = ("_at", "_hunk")
    is_file = False

    def __init__(self, hunk: HunkLines, at: int) -> None:
        self._hunk, self._at = hunk, at

    @property
    def key(self) -> LineKey:
        """Return the key of the line."""
        hunk = self._hunk.hunk
        line = hunk.lines[self._at]
        return LineKey(self._hunk.path, hunk.id, line.old, line.new, self._at)

    @property
    def width(self) -> int:
        """Return about the number of columns."""
        return len(self._hunk.hunk.lines[self._at].text) + 2 * self._hunk.digits + 3

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the numbers, the sign and the text."""
        line, digits = self._hunk.hunk.lines[self._at], self._hunk.digits
        sign, style = SIGNS.get(line.kind, (" ", ""))
        old = "" if line.old is None else str(line.old)
        new = "" if line.new is None else str(line.new)
        return (
            Part(f"{old:>{digits}} {new:>{digits}} ", DIM), Part(sign, style),
            *self._hunk.parts(self._at),
        )  # fmt: skip

    def color(self) -> bool:
        """Make the colours; return whether they are new."""
        return self._hunk.color(self._at)


class SideRow:
    """A line before the change and its new version beside it; either may not exist."""

    __slots__ = ("_half", "_hunk", "_new", "_old")
    is_file = False

    def __init__(self, hunk: HunkLines, old: int | None, new: int | None, *, width: int) -> None:
        self._hunk, self._old, self._new = hunk, old, new
        self._half = (width - len(MIDDLE)) // 2

    @property
    def key(self) -> LineKey:
        """Return the key of both lines."""
        hunk, lines = self._hunk.hunk, self._hunk.hunk.lines
        before = None if self._old is None else lines[self._old].old
        after = None if self._new is None else lines[self._new].new
        at = self._new if self._new is not None else self._old
        return LineKey(self._hunk.path, hunk.id, before, after, at or 0)

    @property
    def width(self) -> int:
        """Return about the number of columns."""
        text = "" if self._new is None else self._hunk.hunk.lines[self._new].text
        return self._half + len(MIDDLE) + self._hunk.digits + 2 + len(text)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the left half, as wide as half of the screen, and the whole right one."""
        left = fitted(self._side(self._old, is_old=True), self._half)
        is_note = self._new is not None and self._hunk.hunk.lines[self._new].kind == NOTE
        right = [] if is_note else self._side(self._new, is_old=False)
        return (*left, Part(MIDDLE, DIM), *right)

    def color(self) -> bool:
        """Make the colours of both lines; return whether they are new."""
        ats = {one for one in (self._old, self._new) if one is not None}
        is_new = [self._hunk.color(one) for one in ats]
        return any(is_new)

    def _side(self, at: int | None, *, is_old: bool) -> list[Part]:
        if at is None:
            return []
        line = self._hunk.hunk.lines[at]
        number = line.old if is_old else line.new
        sign, style = SIGNS.get(line.kind, (" ", ""))
        shown = "" if number is None else str(number)
        head = Part(f"{shown:>{self._hunk.digits}} ", DIM)
        return [head, Part(sign, style), *self._hunk.parts(at)]


def fitted(parts: Sequence[Part], width: int) -> list[Part]:
    """Return parts that fill a width exactly; longer ones end with an ellipsis."""
    size = sum(width_of(one.text) for one in parts)
    if size <= width:
        return [*parts, Part(" " * (width - size))]
    found: list[Part] = []
    room = width
    for text, style in parts:
        found.append(Part(cut(f"{text}…", room) if width_of(text) >= room else text, style))
        room -= width_of(found[-1].text)
        if found[-1].text != text:
            break
    return [*found, Part(" " * room)]


@lru_cache(STYLES_KEPT)
def style_of_part(kind: str, style: str, *, is_word: bool) -> str:
    """Return the style of a part of a line with a style; a colour of its own replaces the line's.

    A keyword keeps the colour of its line, so that added and deleted lines still look like that.
    """
    known = (COLORS.get(kind[:size], "") for size in range(KIND_AT_MOST, 0, -1))
    own = next(filter(None, known), "")
    words = [style, own, WORD if is_word else ""]
    has_color = own.rpartition(" ")[2] not in ("", "bold", "italic", "dim")
    return " ".join(one for one in words[has_color:] if one)


def block_ends(texts: Sequence[str]) -> list[int]:
    """Return the end of each block: in front of a line without indentation if there is one.

    Such a line is seldom inside of a string of several lines, which would be coloured as code.
    """
    ends: list[int] = []
    start = 0
    while start + BLOCK + MARGIN < len(texts):
        least = start + BLOCK
        around = range(least, least + MARGIN)
        start = next((at for at in around if texts[at][:1].isidentifier()), least)
        ends.append(start)
    return [*ends, len(texts)]
