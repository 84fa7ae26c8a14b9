"""The conflict of a worker with another one, or with the branch that it lands on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitworker.web.request import Ask

OTHER = "with"  # the parameter with the other worker


def read(ask: Ask) -> dict[str, Any]:
    """Return the files in conflict with their three versions."""
    found = ask.service.show_conflict(ask.path["worker"], ask.query.get(OTHER) or None)
    return {"found": found, "sides": ("ours", "base", "theirs")}
