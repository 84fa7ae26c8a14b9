"""The number of columns that a text takes on a terminal.

Pure. A wide or fullwidth character (CJK, most emoji) takes two columns, a combining one none. An
emoji that ends in the selector FE0F takes two. `one_line` has escaped joiners and other invisible
characters before; the parts of an unescaped sequence count singly, as on terminals that do not
join them.
"""

from unicodedata import category, east_asian_width

ELLIPSIS = "…"
WIDE = frozenset("WF")
COMBINING = frozenset(("Mn", "Me", "Cf"))
EMOJI_STYLE = "\ufe0f"
# Vowels and final consonants that terminals draw into the Hangul syllable before them.
JAMO = ((0x1160, 0x11FF), (0xD7B0, 0xD7FF))


def width_of(text: str) -> int:
    """Return the number of columns of one line of text without control characters."""
    return len(text) if text.isascii() else sum(_widths(text))


def cut(text: str, width: int | None) -> str:
    """Return text in at most `width` columns; an ellipsis marks a cut."""
    if width is None or width_of(text) <= width:
        return text
    if width <= 0:
        return ""
    if text.isascii():
        return text[: width - 1] + ELLIPSIS
    taken = used = 0
    for size in _widths(text):
        used += size
        if used > width - 1:
            break
        taken += 1
    return text[:taken] + ELLIPSIS


def padded(text: str, width: int) -> str:
    """Return text with blanks on its right, in at least `width` columns."""
    return text + " " * (width - width_of(text))


def wrapped(text: str, width: int | None) -> list[str]:
    """Return a text in lines of at most `width` columns, cut between words.

    A word that is wider has a line of its own, so that a path can be copied.
    """
    if width is None or width_of(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        line = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and width_of(line) > width:
            lines.append(word)
        else:
            lines[-1] = line
    return lines


def _widths(text: str) -> list[int]:
    """Return the columns that each character adds."""
    widths: list[int] = []
    for character in text:
        code = ord(character)
        if character == EMOJI_STYLE:
            widths.append(1 if widths and widths[-1] == 1 else 0)
        elif category(character) in COMBINING or any(low <= code <= high for low, high in JAMO):
            widths.append(0)
        else:
            widths.append(2 if east_asian_width(character) in WIDE else 1)
    return widths
