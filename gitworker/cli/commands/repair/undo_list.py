"""`undo --list`: the record of destructive operations as a table or as JSON."""

from typing import Any

from gitworker import clock
from gitworker.journal.undo.records import ListedRecord
from gitworker.journal.undo.rules_undo import listed
from gitworker.observe.text import NOTHING, age_text, one_line, table
from gitworker.service.results import to_json

HEAD = ("N", "AGO", "OPERATION", "WORKERS", "BY", "RESCUE", "NOW")


def render_records(found: list[ListedRecord], *, width: int | None, color: bool) -> str:
    """Return a table, newest first; without a width, rows separated by tabs for scripts."""
    now = clock.now_ms()
    rows = [
        (
            str(one.record.number),
            age_text(max(0, now - one.record.at_ms)),
            one.record.kind,
            listed(one.record.workers) or NOTHING,
            one.record.actor,
            one.record.rescue or NOTHING,
            "can be undone" if one.refusal is None else f"no: {one.refusal.message}",
        )
        for one in found
    ]
    if width is None:
        return "\n".join("\t".join(map(one_line, row)) for row in rows)
    if not rows:
        return "there is nothing to undo"
    return "\n".join(table(HEAD, rows, width=width, color=color))


def json_records(found: list[ListedRecord]) -> dict[str, Any]:
    """Return the record as JSON data."""
    return {"records": to_json(found)}
