"""Delete old rescue refs and rounds, removed and verify worktrees, and logs.

Work that only such a ref or worktree has is deleted only if the user asks for it by name. The
journal records each ref with its commit before it is deleted, so that `undo` can make it again as
long as git keeps the commit. Files that are deleted cannot be restored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gitworker import clock
from gitworker.crashpoint import crash_point
from gitworker.errors import Refused
from gitworker.journal.gc.gc_disk import check_unsaved, disk_items, disk_left
from gitworker.journal.gc.gc_finish import finish_gc
from gitworker.journal.gc.gc_refs import ref_items, refs_left
from gitworker.journal.gc.rules_gc import (
    DAY_MS,
    LOG,
    POOL,
    REFS,
    TRASH,
    VERIFY,
    GcChoice,
    GcRequest,
    Item,
    choose,
    may_clear,
)
from gitworker.journal.recover import finish_interrupted
from gitworker.liveness.readings import clock_has_jumped
from gitworker.model.ids import HQ
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.session import Session
from gitworker.store.operations import Operation, begin_operation, load_operation
from gitworker.store.payloads.payload import GcData


@dataclass(frozen=True, slots=True)
class CollectedItems:
    """The items deleted or to be deleted, the old ones that stay, and the record's number."""

    choice: GcChoice
    number: int | None


def gc(session: Session, request: GcRequest, *, by_itself: bool = False) -> CollectedItems:
    """Delete the items that the request selects; raise Refused for a worker.

    Also raises Refused while the wall clock has jumped, if an age was given. If nothing is to be
    deleted, nothing is recorded. `undo` without a number ignores a gc that ran `by_itself`.
    """
    refusal = may_clear(session.actor, self_review=session.settings.review_self)
    if refusal is not None:
        raise refusal
    would = preview_gc(session, request)  # before the lock: it may take long
    if not would.choice.selected:
        return would
    with hold(session.landing_lock, name="landing"):
        finish_interrupted(session)
        selected = [
            *refs_left(session, would.choice.selected),
            *disk_left(session, would.choice.selected),
        ]
        if not selected:
            return CollectedItems(GcChoice((), would.choice.held), None)
        operation = _journal(session, selected, by_itself=by_itself)
        crash_point("gc.journal")
        refs = finish_gc(session, operation)
    deleted = [item for item in selected if item.kind not in REFS or item.name in refs]
    return CollectedItems(GcChoice(tuple(deleted), would.choice.held), operation.id)


def preview_gc(session: Session, request: GcRequest) -> CollectedItems:
    """Return the items that would be deleted; change nothing."""
    _require_steady_clock(session, request)
    now = clock.now_ms()
    disk = check_unsaved(session, disk_items(session), request, now)
    return CollectedItems(choose([*ref_items(session), *disk], request, now), None)


def gc_daily(session: Session) -> CollectedItems:
    """Delete the items that the settings select, as a background job does once a day.

    A disk budget deletes no item of the last day.
    """
    return gc(session, replace(gc_request(session), spared_ms=DAY_MS), by_itself=True)


def gc_request(
    session: Session,
    *,
    days: int | None = None,
    max_bytes: int | None = None,
    unlanded: bool = False,
) -> GcRequest:
    """Return the request, completed from the settings; 0 sets no limit."""
    settings = session.settings
    return GcRequest(
        days if days is not None else settings.gc_days or None,
        max_bytes if max_bytes is not None else settings.gc_max_bytes or None,
        unlanded,
    )


def _require_steady_clock(session: Session, request: GcRequest) -> None:
    """Raise Refused if the age of items cannot be trusted."""
    with session.store.read() as reader:
        if request.days and clock_has_jumped(reader):
            raise Refused(
                "the wall clock has moved by a day or more since the last heartbeat, so ages"
                " cannot be trusted",
                "git worker heartbeat <worker>   # if the clock is right: then run gc again",
                code="clock_jumped",
            )


def _journal(session: Session, selected: Sequence[Item], *, by_itself: bool) -> Operation:
    def names(kind: str) -> list[str]:
        return [item.name for item in selected if item.kind == kind]

    data = GcData(
        refs={item.name: item.target for item in selected if item.kind in REFS},
        unlanded=[item.name for item in selected if item.kind in REFS and item.holds],
        entries=[item.target or item.name for item in selected if item.kind == TRASH],
        entry_paths=names(TRASH),
        logs=names(LOG),
        verify=names(VERIFY),
        pool=bool(names(POOL)),
        bytes=sum(item.size_bytes for item in selected),
        by_itself=by_itself,
    )
    with session.store.write_own() as writer:
        number = begin_operation(
            writer, "gc", worker=HQ, task="", actor=session.actor, now=clock.now_ms(), data=data
        )
        return load_operation(writer, number)
