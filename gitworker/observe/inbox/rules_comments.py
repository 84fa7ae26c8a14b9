"""The words in which the author of a change gets review comments. Pure.

The comments are those of a message, so they can come from any program. On the hot path.
"""

from __future__ import annotations

from gitworker.rules_text import one_line

TYPE_CHECKING = False  # `typing` costs a hot verb 8 ms; type checkers know this name
if TYPE_CHECKING:
    from typing import Any

QUOTED_SHOWN = 12


def comment_lines(payload: Any) -> list[str]:
    """Return the comments of a verdict: number and place, the quoted lines, the words.

    A verdict whose only comment is its note needs no lines.
    """
    fields = payload if isinstance(payload, dict) else {}
    note = str(fields.get("note") or "")
    found = fields.get("comments")
    comments = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    if len(comments) == 1 and _is_note(comments[0], note):
        return []
    return [one_line(line) for one in comments for line in _lines_of(one, note)]


def first_number(payload: dict[str, Any]) -> str | None:
    """Return the number of the first comment of a verdict, or None."""
    comments = payload.get("comments")
    first = comments[0] if isinstance(comments, list) and comments else None
    number = first.get("number") if isinstance(first, dict) else None
    return str(number) if isinstance(number, int) else None


def place_text(path: Any, side: Any, lines: Any) -> str:
    """Return the place of a comment: `src/app.py:10-12`, or the change as a whole."""
    if path is None:
        return "the change as a whole"
    first, last = lines if isinstance(lines, list) and len(lines) == 2 else ("?", "?")
    shown = f"{path}:{first}" if first == last else f"{path}:{first}-{last}"
    return f"{shown} (before the change)" if side == "old" else shown


def _is_note(comment: dict[str, Any], note: str) -> bool:
    """Return whether a comment is on the whole change, and its words are the note's."""
    return comment.get("path") is None and comment.get("text") == note and not comment.get("reply")


def _lines_of(comment: dict[str, Any], note: str) -> list[str]:
    number, path = comment.get("number"), comment.get("path")
    place = place_text(path, comment.get("side"), comment.get("lines"))
    again = " again" if comment.get("state") == "reopened" else ""
    lines = [f"comment {number}{again} on {place}"]
    quoted = comment.get("quoted")
    quoted = quoted if isinstance(quoted, list) else []
    lines += [f"    > {line}" for line in quoted[:QUOTED_SHOWN]]
    if len(quoted) > QUOTED_SHOWN:
        lines.append(f"    > … {len(quoted) - QUOTED_SHOWN} more lines")
    for key in ("text", "reply"):
        text = str(comment.get(key) or "")
        if text and not (path is None and text == note):
            lines += [f"    {line}" for line in text.split("\n")]
    return lines
