"""Read the fields of a form, and make the notice of a change."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from gitworker.errors import Invalid
from gitworker.web.jobs import Notice

if TYPE_CHECKING:
    from collections.abc import Mapping

NUMBER_DIGITS = 18  # more do not fit into SQLite's integers


def require_text(form: Mapping[str, str], name: str) -> str:
    """Return a text; raise Invalid for an empty one."""
    text = read_text(form, name)
    if not text:
        raise Invalid("the text is empty")
    return text


def read_text(form: Mapping[str, str], name: str) -> str:
    """Return a text with newlines only: a browser sends a carriage return before each."""
    return form.get(name, "").replace("\r\n", "\n").strip()


def require_number(form: Mapping[str, str], what: str = "comment") -> int:
    """Return the number of a comment or question; raise Invalid for any other text."""
    text = form.get("number", "")
    if not (text.isascii() and text.isdecimal()) or len(text) > NUMBER_DIGITS:
        raise Invalid(f"the {what} has no number")
    return int(text)


def read_path(form: Mapping[str, str], field: str = "path") -> str:
    """Return the path of a file, which a form has as percent-encoded bytes."""
    return unquote_to_bytes(form.get(field, "")).decode("utf-8", "surrogateescape")


def done(text: str, *, focus: str = "") -> Notice:
    """Return the notice of a change; `focus` is the element that shows its result."""
    return Notice("done", text, focus=focus)
