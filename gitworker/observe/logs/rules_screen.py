"""The text that a program's output leaves on a terminal: cursor moves are carried out. Pure.

The screen has no bottom, because its height is not known: a line feed never scrolls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TAB = 8
SCREEN_READ = 1 << 20  # characters; a full-screen program writes many for each that remains
FULL_SCREEN = ("\x1b[H", "\x1b[2J", "\x1b[?1049h")  # only such a program writes them
MOVE_AT_MOST = 1000  # rows or columns; a larger number is an error or an attack
# Control sequences with numbers, other commands (ECMA-48), then the characters between them.
TOKENS = (
    r"(?:\x1b\[|\x9b)([0-9;]*)[:<-?]?[0-9;]*[ -/]*([@-~])"
    r"|(?:\x1b[]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]"
    r"|([\r\n\b\t])"
    r"|([^\x1b\x90\x98\x9b\x9d-\x9f\r\n\b\t]+)"
)


def rendered(text: str) -> list[str]:
    """Return the rows of a terminal after a program's output, without blanks at their ends."""
    if not any(mark in text for mark in "\x1b\x9b\r\b"):
        return [line.expandtabs(TAB).rstrip() for line in text.split("\n")]
    import re  # 5 ms, and few commands show the output of a program

    screen = _Screen()
    for match in re.finditer(TOKENS, text):
        numbers, final, control, plain = match.groups()
        if plain is not None:
            screen.write(plain)
        elif control is not None:
            screen.control(control)
        elif final is not None:
            screen.move(final, numbers)
    return screen.lines()


def shown_rows(lines: Sequence[str]) -> list[str]:
    """Return the rows that lines of a program's log leave on a terminal.

    The blank rows of a full-screen program are left out.
    """
    text = "\n".join(lines)
    if not any(mark in text for mark in FULL_SCREEN):
        return rendered(text)
    return [row for row in rendered(text[-SCREEN_READ:]) if row]


class _Screen:
    """Rows of characters, and the position of the cursor."""

    __slots__ = ("_column", "_row", "_rows")

    def __init__(self) -> None:
        self._rows: list[list[str]] = [[]]
        self._row = self._column = 0

    def lines(self) -> list[str]:
        return ["".join(row).rstrip() for row in self._rows]

    def write(self, text: str) -> None:
        row = self._reach()
        row[self._column : self._column + len(text)] = text
        self._column += len(text)

    def control(self, one: str) -> None:
        if one == "\n":  # our log has the output of a pty, which begins a line with it
            self._row, self._column = self._row + 1, 0
        elif one == "\r":
            self._column = 0
        elif one == "\b":
            self._column = max(0, self._column - 1)
        else:
            self._column += TAB - self._column % TAB
        self._reach()

    def move(self, final: str, numbers: str) -> None:
        """Carry out a control sequence; one without an effect on text is ignored."""
        act = _ACTS.get(final)
        if act is not None:
            given = [min(int(number or 0), MOVE_AT_MOST) for number in numbers.split(";")]
            act(self, *(*given, 0)[:2])

    def go(self, row: int, column: int) -> None:
        self._row, self._column = max(0, row), max(0, column)
        self._reach()

    def by(self, rows: int, columns: int) -> None:
        self.go(self._row + rows, self._column + columns)

    def to_column(self, column: int) -> None:
        self.go(self._row, column)

    def to_row(self, row: int) -> None:
        self.go(row, self._column)

    def erase_line(self, part: int) -> None:
        row = self._reach()
        if part != 1:
            del row[0 if part == 2 else self._column :]
        else:
            row[: self._column + 1] = " " * (self._column + 1)

    def erase_screen(self, part: int) -> None:
        if part == 0:
            self.erase_line(0)
            del self._rows[self._row + 1 :]
        elif part in (2, 3):
            self._rows = [[]]
        self._reach()

    def erase(self, count: int) -> None:
        row = self._reach()
        row[self._column : self._column + count] = " " * len(row[self._column :][:count])

    def delete(self, count: int) -> None:
        del self._reach()[self._column : self._column + count]

    def insert(self, count: int) -> None:
        self._reach()[self._column : self._column] = " " * count

    def _reach(self) -> list[str]:
        """Return the cursor's row, filled with blanks up to the cursor."""
        missing = self._row + 1 - len(self._rows)
        self._rows += [[] for _ in range(missing)]
        row = self._rows[self._row]
        row += " " * (self._column - len(row))
        return row


_ACTS: dict[str, Callable[[_Screen, int, int], None]] = {
    "A": lambda screen, n, _: screen.by(-(n or 1), 0),
    "B": lambda screen, n, _: screen.by(n or 1, 0),
    "C": lambda screen, n, _: screen.by(0, n or 1),
    "D": lambda screen, n, _: screen.by(0, -(n or 1)),
    "E": lambda screen, n, _: screen.go(screen._row + (n or 1), 0),
    "F": lambda screen, n, _: screen.go(screen._row - (n or 1), 0),
    "G": lambda screen, n, _: screen.to_column((n or 1) - 1),
    "d": lambda screen, n, _: screen.to_row((n or 1) - 1),
    "H": lambda screen, n, m: screen.go((n or 1) - 1, (m or 1) - 1),
    "f": lambda screen, n, m: screen.go((n or 1) - 1, (m or 1) - 1),
    "J": lambda screen, n, _: screen.erase_screen(n),
    "K": lambda screen, n, _: screen.erase_line(n),
    "X": lambda screen, n, _: screen.erase(n or 1),
    "P": lambda screen, n, _: screen.delete(n or 1),
    "@": lambda screen, n, _: screen.insert(n or 1),
}
