"""Settings with their origin, and the findings of doctor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.settings.settings_text import render_origin, render_value

if TYPE_CHECKING:
    from gitworker.web.request import Ask


def read(ask: Ask) -> dict[str, Any]:
    """Return the settings and the findings."""
    found = ask.service.settings()
    rows = [(one.key, render_value(one, "; "), render_origin(one)) for one in found.settings]
    return {"rows": rows, "errors": found.errors, "doctor": ask.service.doctor()}
