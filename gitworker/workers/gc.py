"""gc: lets go of what is old and needed nowhere: rescue refs, removed and verify worktrees, logs.

Nothing that only such a ref or worktree holds goes unless it is asked for by name. The journal
names every ref with its commit before it goes, so that `undo` can make it again for as long as git
keeps the commits; what is deleted from the disk is gone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gitworker import clock
from gitworker.crashpoint import crash_point
from gitworker.model.ids import HQ
from gitworker.repo.lock import hold
from gitworker.session import Session
from gitworker.store.operations import Operation, begin_operation, find_operation
from gitworker.workers.gc_disk import disk_items
from gitworker.workers.gc_finish import finish_gc
from gitworker.workers.gc_refs import rescue_items
from gitworker.workers.recover import finish_interrupted
from gitworker.workers.rules_gc import (
    LOG,
    POOL,
    RESCUE,
    TRASH,
    VERIFY,
    Choice,
    Item,
    Wish,
    choose,
    may_clear,
)


@dataclass(frozen=True, slots=True)
class Collected:
    """What went, or would go, and what stays though it is old; the number of the record, if any."""

    choice: Choice
    number: int | None


def gc(session: Session, wish: Wish) -> Collected:
    """Let go of what the wish says; raise Refused for a worker, which may not clear others' away.

    Nothing is recorded where nothing goes.
    """
    refusal = may_clear(session.actor, self_review=session.settings.review_self)
    if refusal is not None:
        raise refusal
    disk = disk_items(session)  # before the lock: it may take its time
    with hold(session.landing_lock, what="landing"):
        finish_interrupted(session)
        choice = choose([*rescue_items(session), *disk], wish, clock.now_ms())
        if not choice.going:
            return Collected(choice, None)
        operation = _journal(session, choice.going)
        crash_point("gc.journal")
        finish_gc(session, operation)
    return Collected(choice, operation.id)


def preview_gc(session: Session, wish: Wish) -> Collected:
    """Return what would go, changing nothing."""
    items = [*rescue_items(session), *disk_items(session)]
    return Collected(choose(items, wish, clock.now_ms()), None)


def gc_daily(session: Session) -> Collected:
    """Let go of what the settings say, as a background job does once a day."""
    return gc(session, wish_of(session))


def wish_of(
    session: Session,
    *,
    days: int | None = None,
    max_bytes: int | None = None,
    unlanded: bool = False,
) -> Wish:
    """Return what is asked for, by the settings where nothing is said; 0 sets no limit."""
    settings = session.settings
    return Wish(
        days if days is not None else settings.gc_days or None,
        max_bytes if max_bytes is not None else settings.gc_max_bytes or None,
        unlanded,
    )


def _journal(session: Session, going: Sequence[Item]) -> Operation:
    def names(kind: str) -> list[str]:
        return [item.name for item in going if item.kind == kind]

    data: dict[str, Any] = {
        "refs": {item.name: item.what for item in going if item.kind == RESCUE},
        "entries": [item.what or item.name for item in going if item.kind == TRASH],
        "entry_paths": names(TRASH),
        "logs": names(LOG),
        "verify": names(VERIFY),
        "pool": bool(names(POOL)),
        "bytes": sum(item.size_bytes for item in going),
    }
    with session.store.write() as writer:
        number = begin_operation(
            writer, "gc", worker=HQ, task="", actor=session.actor, now=clock.now_ms(), data=data
        )
        operation = find_operation(writer, number)
    assert operation is not None
    return operation
