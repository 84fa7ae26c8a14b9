"""Work that was sent back: the reason as data and in words, and the command that continues it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker.observe.text import few_files

if TYPE_CHECKING:
    from gitworker.observe.workers.rules_worker import Reading
    from gitworker.session import Session
    from gitworker.store.api import Reader
    from gitworker.store.records.screens import ShortWorkerRow, WorkerRow
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


def returned_work(worker: Worker | WorkerRow | ShortWorkerRow) -> ReturnedWork | None:
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


def read_reason(reader: Reader, worker: Worker | ShortWorkerRow) -> str | None:
    """Return the reason of a return if the published tip of the branch is still the same."""
    from gitworker.model.ref_names import ref_of
    from gitworker.store.records.tips import find_tip

    returned = returned_work(worker)
    if returned is None or worker.branch is None:
        return None
    return open_reason(returned, find_tip(reader, ref_of(worker.branch)))


def read_next_command(session: Session, reader: Reader, worker: Worker, reading: Reading) -> str:
    """Return the next command of a worker, as the screens show it, for the one who reads."""
    # An agent's hooks need only the words above, and start with each of its tool calls.
    from gitworker.observe.last_run import read_last_run  # 10 ms with those below
    from gitworker.observe.trouble import read_place
    from gitworker.observe.workers.rules_worker import is_taken, next_command
    from gitworker.store.records.run_results import can_repeat_run
    from gitworker.store.tasks import find_task

    name = worker.worker_id
    task = find_task(reader, worker.task)
    status = task.status if task else None
    taken = task is not None and is_taken(name, task.assigned_agent_id)
    place = read_place(reader, session, worker, task_status=status, is_taken=taken)
    if place.trouble is not None:
        return place.trouble.command
    last = read_last_run(session, reader, worker)
    return next_command(
        name, worker.state, task_status=status, stale_from=worker.stale_from,
        returned_by=read_reason(reader, worker), waits_for_author=worker.waits_for_author,
        is_taken=taken, agent_end=last.end if last else None,
        can_repeat=can_repeat_run(reader, name, worker.task_id),
        runs_elsewhere=place.runs_elsewhere, has_uncommitted=place.has_uncommitted, reader=reading,
    )  # fmt: skip


def read_row_command(
    session: Session, reader: Reader, row: ShortWorkerRow, reading: Reading
) -> str:
    """Return the same for a worker of a list."""
    from gitworker.observe.trouble import read_place
    from gitworker.observe.workers.rules_worker import is_taken, next_command

    taken = is_taken(row.worker_id, row.task_holder)
    place = read_place(reader, session, row, task_status=row.task_status, is_taken=taken)
    if place.trouble is not None:
        return place.trouble.command
    return next_command(
        row.worker_id, row.state, task_status=row.task_status, stale_from=row.stale_from,
        returned_by=read_reason(reader, row), waits_for_author=row.waits_for_author,
        is_taken=taken, agent_end=row.agent_end, can_repeat=row.can_repeat,
        runs_elsewhere=place.runs_elsewhere, has_uncommitted=place.has_uncommitted, reader=reading,
    )  # fmt: skip


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
