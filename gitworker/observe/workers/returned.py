"""Work that was sent back: the reason as data and in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.observe.text import few_files

if TYPE_CHECKING:
    from gitworker.store.records.screens import WorkerRow
    from gitworker.store.workers import Worker

REASONS = {
    "changes_requested": "changes requested", "merge_conflict": "conflict",
    "verify_failed": "verification failed", "withdrawn": "returned by undo",
}  # fmt: skip


class ReturnedWork(NamedTuple):
    """The reason for which work was sent back, and the tip at that time.

    `files` are those in conflict, `log` is that of the verify commands, `note` the reviewer's.
    `is_waiting`: no author has started on it again.
    """

    reason: str
    tip: str | None
    files: tuple[str, ...]
    log: str
    note: str
    is_waiting: bool


def returned_work(worker: Worker | WorkerRow) -> ReturnedWork | None:
    """Return the reason for which a worker's work came back; None if it did not.

    None also for a conflict that a rebase has settled since.
    """
    if worker.returned_by is None:
        return None
    detail = _detail(worker.returned_detail)
    if detail.get("is_settled"):
        return None
    files = detail.get("files")
    return ReturnedWork(
        worker.returned_by,
        worker.returned_tip,
        tuple(map(str, files)) if isinstance(files, list) else (),
        str(detail.get("log") or ""),
        str(detail.get("note") or detail.get("reason") or ""),
        is_waiting=worker.waits_for_author,
    )


def open_reason(returned: ReturnedWork | None, tip: str | None) -> str | None:
    """Return the reason of a return if the branch has not moved since; None otherwise."""
    return returned.reason if returned is not None and returned.tip == tip else None


def returned_text(returned: ReturnedWork, *, whole: bool = False, with_log: bool = True) -> str:
    """Return the reason in words: `conflict in a.py`, `changes requested: A test is missing`.

    `whole` lists all files. `with_log` ends the text with the path of a verification's log.
    """
    text = REASONS.get(returned.reason, returned.reason)
    if returned.files:
        files = ", ".join(returned.files) if whole else few_files(returned.files)
        text += f" in {files}"
    note = " ".join(returned.note.split())  # one line
    text += f": {note}" if note else ""
    return f"{text} (log: {returned.log})" if returned.log and with_log else text


def json_returned(returned: ReturnedWork | None) -> dict[str, Any] | None:
    """Return the reason as JSON data."""
    if returned is None:
        return None
    return {
        "by": returned.reason, "commit": returned.tip or None, "files": list(returned.files),
        "log": returned.log or None, "note": returned.note or None,
        "waits_for_author": returned.is_waiting,
    }  # fmt: skip


def _detail(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
