"""One worker: text, notes, state, history, evidence, and the changes of its review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.journal.undo.records import find_undoable
from gitworker.lifecycle.rules import waits_for_review
from gitworker.observe.queue.board_columns import column_of
from gitworker.web.pages.work import changes

if TYPE_CHECKING:
    from gitworker.web.request import Ask

RECORDS_READ = 20
LIVE = "live"  # the part of the page without the changes, which every event loads again


def read(ask: Ask) -> dict[str, Any]:
    """Return the worker, and its changes unless only the live part is asked for.

    `seen` is the commit of the changes on the screen, also while the rest of the page changes.
    """
    name = ask.path["worker"]
    is_whole = ask.query.get("part") != LIVE
    # The changes are read first: a commit that comes after them has not been seen.
    read: dict[str, Any] = {}
    if is_whole:
        read = changes.read(ask.service, name, is_sided=ask.is_sided, records_look=True)
    shown = ask.service.show(name)
    worker = shown.worker.worker_id
    _, frame = ask.site.hub.newest
    line = next((one for one in frame.workers if one.worker == worker), None)
    review = read.get("review")
    return {
        **read, "show": shown, "tip": shown.branching.tip if shown.branching else None,
        "facts": ask.site.facts(ask.service).get(worker),
        "seen": (review.round.tip if review else None) if is_whole else ask.query.get("seen"),
        "column": column_of(line) if line else None,
        "undo": find_undoable(ask.service.undo_records(limit=RECORDS_READ), worker),
        "waits_for_review": waits_for_review(shown.worker.state, shown.worker.stale_from),
        "is_whole": is_whole, "following": ask.site.next_review(worker),
    }  # fmt: skip
