"""The layout of text: ages, columns that fit the width, colour, safe characters.

Pure. Widths are columns of a terminal. Text from outside (titles, subjects, notes, payloads) passes
through `one_line`, so that it cannot send control sequences to the terminal or imitate other lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.observe.logs.rules_screen import rendered
from gitworker.observe.text_width import cut as cut
from gitworker.observe.text_width import padded, width_of
from gitworker.rules_text import one_line as one_line  # for every renderer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
UNITS = ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "m"), (SECOND_MS, "s"))
GAP = "  "
NOTHING = "-"
FILES_SHOWN = 4
MIN_COLUMN = 6
REST_AT_LEAST = 24
BOLD, DIM, RED, GREEN, YELLOW, BLUE, CYAN = "1", "2", "31", "32", "33", "34", "36"


def age_text(age_ms: int | None) -> str:
    """Return an age in its largest whole unit: `12s`, `5m`, `2h`, `3d`; `-` for none."""
    if age_ms is None:
        return NOTHING
    for size, unit in UNITS:
        if age_ms >= size:
            return f"{age_ms // size}{unit}"
    return "0s"


def without_escapes(text: str) -> str:
    """Return a line of a program's output as it appears on a terminal.

    Cursor moves are carried out; of several rows the last one with text is returned.
    """
    return next((row for row in reversed(rendered(text)) if row), "")


def paint(text: str, code: str | None, *, color: bool) -> str:
    """Return text in a colour if `color` is set."""
    return f"\x1b[{code}m{text}\x1b[0m" if color and code and text else text


def few_files(files: Sequence[str]) -> str:
    """Return the first few files on one line, and the number of the others."""
    more = len(files) - FILES_SHOWN
    shown = ", ".join(map(one_line, files[:FILES_SHOWN]))
    return f"{shown}, +{more}" if more > 0 else shown


def field_lines(fields: Iterable[tuple[str, str | None]]) -> list[str]:
    """Return one line for each field that has a value."""
    return [f"{name:<10} {one_line(value)}" for name, value in fields if value]


def listing(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None,
    color: bool,
    colors: Mapping[int, Mapping[str, str]] | None = None,
    empty: str = "",
    last: Sequence[str] = (),
) -> str:
    """Return a table for a terminal; without a width, bare rows separated by tabs for scripts.

    Without rows a terminal gets the text `empty`. `last` are the lines below the table.
    """
    if width is None:
        return "\n".join("\t".join(map(one_line, row)) for row in rows)
    if not rows:
        return empty
    return "\n".join((*table(head, rows, width=width, colors=colors, color=color), *last))


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None,
    colors: Mapping[int, Mapping[str, str]] | None = None,
    color: bool = False,
    widths: Sequence[int] | None = None,
) -> list[str]:
    """Return the lines of a table: columns as wide as needed; the widest is cut until all fit.

    `colors` gives, by column, the colour of each cell's text. `widths` are those of
    `column_widths`, if the caller has chosen them; then the cells are already made by `one_line`.
    """
    cells: Sequence[Sequence[str]] = rows
    if widths is None:
        cells = [[one_line(cell) for cell in row] for row in rows]
    chosen = column_widths(head, cells, width=width) if widths is None else widths
    lines = [_row(head, chosen, [BOLD if color else None] * len(head))]
    shades: list[Mapping[str, str]] = [(colors or {}).get(i, {}) for i in range(len(head))]
    for row in cells:
        codes = [
            shade.get(cell) if color else None for shade, cell in zip(shades, row, strict=True)
        ]
        lines.append(_row(row, chosen, codes))
    return lines


def column_widths(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None,
    elastic: frozenset[str] | None = None,
) -> list[int]:
    """Return the columns' widths for a table that fits `width`.

    With `elastic` only these columns and the last one are narrowed, and the last one gets all the
    width that the others leave, at least REST_AT_LEAST if it needs so much.
    """
    widths = [max(map(width_of, column)) for column in zip(head, *rows, strict=True)]
    if width is None:
        return widths
    if elastic is None:
        return _fitted(widths, width)
    needed = widths.pop()
    room = width - len(GAP) * len(widths)
    narrowed = [at for at, name in enumerate(head[:-1]) if name in elastic]
    fixed = sum(widths) - sum(widths[at] for at in narrowed)
    room_of_narrowed = room - fixed - min(needed, REST_AT_LEAST) + len(GAP) * (len(narrowed) - 1)
    fitted = _fitted([widths[at] for at in narrowed], room_of_narrowed)
    for at, narrow in zip(narrowed, fitted, strict=True):
        widths[at] = narrow
    return [*widths, max(MIN_COLUMN, min(needed, room - sum(widths)))]


def _row(cells: Sequence[str], widths: Sequence[int], codes: Sequence[str | None]) -> str:
    parts = []
    for cell, limit, code in zip(cells, widths, codes, strict=True):
        if code is None and len(cell) <= limit and cell.isascii():
            parts.append(cell.ljust(limit))  # most cells; the rest gives the same, more slowly
            continue
        text = cut(cell, limit)
        parts.append(paint(text, code, color=code is not None) + padded(text, limit)[len(text) :])
    return GAP.join(parts).rstrip()


def _fitted(widths: list[int], limit: int) -> list[int]:
    """Narrow the widest column (of equal ones the last) until the row fits; see MIN_COLUMN."""
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - limit
    fitted = list(widths)
    while excess > 0:
        widest = max(range(len(fitted)), key=lambda index: (fitted[index], index))
        if fitted[widest] <= MIN_COLUMN:
            break
        second = max((w for i, w in enumerate(fitted) if i != widest), default=0)
        taken = min(excess, max(1, fitted[widest] - max(second, MIN_COLUMN)))
        fitted[widest] -= taken
        excess -= taken
    return fitted
