"""The conflicts, unusual worktrees and unusual branches that `hq` has to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.model.ref_names import ref_of
from gitworker.observe.inbox.inbox import InboxItem
from gitworker.observe.inbox.rules_needs import (
    FAILED,
    IDLE,
    LANDING,
    RETURNED,
    REVIEW,
    STALE,
    STATE,
)
from gitworker.observe.next_step.later_commits import read_left_branches
from gitworker.observe.next_step.next_command import read_troubles, read_worker_refs
from gitworker.observe.text import few_files
from gitworker.observe.workers.overlaps import read_overlaps
from gitworker.observe.workers.rules_worker import parent_first
from gitworker.store.records.screens import read_worker_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gitworker.session import Session
    from gitworker.store.api import Reader

JUDGED = (REVIEW, LANDING)
RESUMED = (FAILED, STALE, IDLE, RETURNED)  # their command needs the worktree


def troubles_of_others(
    reader: Reader, session: Session, known: Collection[str]
) -> Iterator[InboxItem]:
    """Yield the unusual worktrees and branches of workers for which no other item is `known`.

    Also the branches of earlier tasks that have got commits since their landing.
    """
    rows = [row for row in read_worker_rows(reader) if row.branch and row.worker_id not in known]
    troubles = read_troubles(session, reader, rows, read_worker_refs(session, rows))
    for row in rows:
        if (trouble := troubles.get(row.worker_id)) is not None:
            yield InboxItem(
                STATE, row.worker_id, trouble.words, row.state_changed_at_ms,
                command=trouble.command, task=row.task_id,
            )  # fmt: skip
    for left in read_left_branches(reader, session):
        yield InboxItem(
            STATE, left.worker, left.trouble.words, left.landed_at_ms,
            command=left.trouble.command, task=left.task,
        )  # fmt: skip


def with_findings(session: Session, items: Sequence[InboxItem]) -> list[InboxItem]:
    """Return the items, each review and landing with the trouble and conflicts of its branch.

    Work that is to be resumed gets the trouble of its worktree. The command for a trouble, or for
    a parent that is not approved, replaces the item's own, which would be refused. Starts one git
    process if work waits.
    """
    names = {item.source for item in items if item.kind in (*JUDGED, *RESUMED)}
    if not names:
        return list(items)
    with session.store.read() as reader:
        rows = [row for row in read_worker_rows(reader) if row.branch]
        owners = {ref_of(row.branch): row.worker_id for row in rows if row.branch}
        waiting = [row for row in rows if row.worker_id in names]
        wanted = {row.worker_id: ref_of(row.branch) for row in waiting if row.branch}
        refs = read_worker_refs(session, waiting)
        overlaps = read_overlaps(reader, owners, target=session.target)
        troubles = read_troubles(session, reader, waiting, refs)
    states = {row.worker_id: row.state for row in rows}
    parents = {
        row.worker_id: parent_first(row.worker_id, row.parent, states.get(row.parent))
        for row in waiting
        if row.parent is not None
    }
    found = []
    for item in items:
        ref = wanted.get(item.source) if item.kind in (*JUDGED, *RESUMED) else None
        if ref is None:
            found.append(item)
            continue
        trouble = troubles.get(item.source)
        if item.kind in RESUMED and not (trouble and trouble.is_of_worktree):
            found.append(item)
            continue
        first = parents.get(item.source) if item.kind == REVIEW else None
        words = [item.text, *(one.words for one in (trouble, first) if one)]
        conflicts = overlaps.get(ref, ()) if item.kind in JUDGED else ()
        words += [f"conflicts with {one.other} in {few_files(one.files)}" for one in conflicts]
        command = next((one.command for one in (trouble, first) if one), item.command)
        found.append(item._replace(text="; ".join(words), command=command))
    return found
