"""The changes from one round to another, or since the reader's last look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.web.pages.work.rules_rounds import comparison_rows

if TYPE_CHECKING:
    from gitworker.web.request import Ask

LOOK = "look"  # instead of N..M


def read(ask: Ask) -> dict[str, Any]:
    """Return the comparison with the lines that git range-diff shows."""
    rounds = ask.path["rounds"]
    found = ask.service.compare_rounds(ask.path["worker"], None if rounds == LOOK else rounds)
    return {"compared": found, "rows": comparison_rows(found.text)}
