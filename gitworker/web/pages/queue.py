"""The queue: its order, the newest windows with their verdicts, and the ways back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitworker.web.request import Ask

RECORDS_SHOWN = 8


def read(ask: Ask) -> dict[str, Any]:
    """Return the queue and the newest operations that can be undone."""
    records = ask.service.undo_records(limit=RECORDS_SHOWN)
    return {"queue": ask.service.queue(), "records": records}
