"""One worker: text, notes, state, history, evidence, and the diff that would land."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitworker.errors import NotFound
from gitworker.web.pages.board_columns import column_of
from gitworker.web.pages.work.colors import painted
from gitworker.web.pages.work.rules_diff import parse_diff

if TYPE_CHECKING:
    from gitworker.journal.undo.records import Record
    from gitworker.observe.workers.show import WorkerView
    from gitworker.web.request import Ask

RECORDS_READ = 20
LIVE = "live"  # the part of the page without the diff, which every change loads again


def read(ask: Ask) -> dict[str, Any]:
    """Return the worker, and its diff unless only the changing part is asked for.

    `seen` is the tip of the diff on the screen, also while the rest of the page changes.
    """
    name = ask.path["worker"]
    shown = ask.service.show(name)
    _, frame = ask.site.hub.newest
    line = next((one for one in frame.workers if one.worker == shown.worker.worker_id), None)
    facts = ask.site.facts().get(shown.worker.worker_id)
    is_whole = ask.query.get("part") != LIVE
    tip = shown.branching.tip if shown.branching else None
    return {
        "show": shown, "tip": tip, "facts": facts,
        # The diff is read after its tip. So a commit in between is not approved by mistake.
        "seen": tip if is_whole else ask.query.get("seen"),
        "column": column_of(line) if line else None,
        "undo": _find_undo(ask, shown.worker.worker_id),
        "diff": _diff(ask, shown) if is_whole else None, "is_whole": is_whole,
    }  # fmt: skip


def _find_undo(ask: Ask, worker: str) -> Record | None:
    """Return the newest operation on a worker that can be undone."""
    records = ask.service.undo_records(limit=RECORDS_READ)
    found = (one.record for one in records if one.refusal is None and worker in one.record.workers)
    return next(found, None)


def _diff(ask: Ask, shown: WorkerView) -> dict[str, Any] | None:
    """Return the files with their coloured lines; None without a branch."""
    try:
        found = ask.service.diff(shown.worker.worker_id)
    except NotFound:
        return None
    text = found.text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    parsed = parse_diff(text)
    return {"parsed": parsed, "painted": [painted(one) for one in parsed.files]}
