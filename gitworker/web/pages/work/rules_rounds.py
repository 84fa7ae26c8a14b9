"""The output of git range-diff as rows for a page. Pure."""

from __future__ import annotations

from typing import NamedTuple

INDENT = "    "  # of every line below the line of a commit
KINDS = {"+": "add", "-": "del"}


class ComparedLine(NamedTuple):
    """One line; `kind` is head for a commit, else add, del or same between the two versions."""

    kind: str
    text: str


def comparison_rows(text: str) -> tuple[ComparedLine, ...]:
    """Return the lines; the first sign of a line is its kind, the second is of the patch itself."""
    return tuple(_row(line) for line in text.split("\n")) if text else ()


def _row(line: str) -> ComparedLine:
    body = line.removeprefix(INDENT)
    if body == line:
        return ComparedLine("head", line.strip())
    kind = KINDS.get(body[:1], "same")
    return ComparedLine(kind, body[1:] if kind != "same" or body[:1] == " " else body)
