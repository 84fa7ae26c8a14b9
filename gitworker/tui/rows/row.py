"""A row of a screen: parts of text with styles. Text is never markup and never a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gitworker.observe.text import age_text
from gitworker.observe.text_width import wrapped
from gitworker.rules_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

TAB = 4
DIM, BOLD, BAD, GOOD, HEAD, NOTED = "dim", "bold", "red", "green", "cyan", "yellow"
WORD = "underline"  # words that differ, behind the style of their line
SHORT = 10


class Part(NamedTuple):
    """A text with the name of its style."""

    text: str
    style: str = ""


class AnyRow(Protocol):
    """A row, which may make its parts only when it is shown."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return the parts."""

    @property
    def key(self) -> Any:
        """Return the thing that it shows, or None."""

    @property
    def is_file(self) -> bool:
        """Return whether n and p stop here."""

    @property
    def width(self) -> int:
        """Return about the number of columns."""

    def color(self) -> bool:
        """Make the colours that take long; return whether there are new ones."""


class Row(NamedTuple):
    """One row. `key` is the thing that it shows: j and k stop at rows that have one.

    n and p stop at the rows of `is_file`.
    """

    parts: tuple[Part, ...]
    key: Any = None
    is_file: bool = False

    @property
    def width(self) -> int:
        """Return about the number of columns."""
        return sum(len(part.text) for part in self.parts)

    def color(self) -> bool:
        """Return that the colours are complete."""
        return False


def row(*parts: str | Part, key: Any = None, is_file: bool = False) -> Row:
    """Return a row; a text without a style is a part, too."""
    made = tuple(Part(one) if isinstance(one, str) else one for one in parts)
    return Row(made, key, is_file)


def title(text: str) -> Row:
    """Return a row that names a section."""
    return row(Part(text, BOLD))


def paragraphs(text: str, *, width: int, style: str = "", indent: str = "") -> Iterator[Row]:
    """Yield the rows of a text, cut between words."""
    for line in text.strip("\n").split("\n"):
        for part in wrapped(clean(line), max(20, width - len(indent))):
            yield row(indent, Part(part, style))


def clean(text: str) -> str:
    """Return a line as it may reach a terminal, with tabs as blanks."""
    return one_line(text.expandtabs(TAB) if "\t" in text else text)


def age(now_ms: int, at_ms: int) -> str:
    """Return the time since a moment."""
    return age_text(max(0, now_ms - at_ms))
