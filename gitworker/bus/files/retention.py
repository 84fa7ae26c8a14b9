"""Retention: archive and delete old messages that every living agent has read.

The order makes a kill harmless at any point: open the journal row, write and sync the archive,
record its name, rename it, read it back and delete the rows that it contains, rewrite bus.jsonl,
close the journal row. The next prune finishes an archive with a recorded name and deletes any
other partial file.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from gitworker import clock
from gitworker.bus.files.archive import Archived, is_whole, publish_file, read_entries, write_lines
from gitworker.bus.files.collect_blobs import CollectedBlobs, collect_blobs
from gitworker.bus.files.export import trim_bus_log
from gitworker.bus.files.rules_retention import (
    DAY_MS,
    AckPosition,
    PruneFloor,
    archive_name,
    holds_back,
    lowest_floor,
)
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, Unavailable
from gitworker.paths import StatePaths
from gitworker.store.api import Reader, Store
from gitworker.store.messages.archives import (
    begin_archive,
    drop_archive,
    end_archive,
    old_dead_letters,
    old_messages,
    open_archives,
    record_archive,
)
from gitworker.store.messages.mailbox import newest_seq
from gitworker.store.messages.retention import (
    all_cursors,
    count_old_dead_letters,
    delete_archived,
    delete_leftovers,
    delete_old_dead_letters,
    delete_old_messages,
    find_old_messages,
    first_addressed,
    first_unread,
    free_bytes,
    return_free_pages,
)

CHUNK = 500
PAUSE_S = 0.005  # between two chunks, outside the gate, so that publishers are not delayed
WINDOW = 5000
LOCK_NAME = "prune"


class PruneRequest(NamedTuple):
    """The messages and dead letters to prune: those older than `cutoff_ms`.

    Unread messages of an agent stay if it is living or has acknowledged anything since `since_ms`.
    For a living agent that never acknowledged, only messages addressed to it alone stay. Unread
    messages to hq, or to a worker with a task that has not landed, always stay. In a fleet these
    are the agents of this machine; what another one needs stays if it has reported since
    `reported_since_ms`.
    """

    cutoff_ms: int
    living: frozenset[str]
    since_ms: int
    archiving: bool = True
    reported_since_ms: int = 0


class PrunePlan(NamedTuple):
    """The deletions of a prune: old messages up to a position, and dead letters.

    `held_by` is the living agent whose unread messages limit it, or another machine of the fleet
    whose agents may not have read them; None if only age does.
    """

    messages: int
    first_seq: int
    last_seq: int
    dead_letters: int
    held_by: str | None


class PruneResult(NamedTuple):
    """The result of a prune: the plan, the archive's path, deleted blobs and freed bytes."""

    plan: PrunePlan
    archive: str | None
    collected: CollectedBlobs
    freed_bytes: int


def plan_prune(store: Store, request: PruneRequest) -> PrunePlan:
    """Return the deletions that a prune would make now; write nothing."""
    with store.read() as reader:
        floor = _floor(reader, request, machine=store.fleet_machine)
        dead_letters = count_old_dead_letters(reader, request.cutoff_ms)
    messages, first_seq, last_seq = _old_stretch(store, floor.seq, request.cutoff_ms)
    return PrunePlan(messages, first_seq, last_seq, dead_letters, floor.agent)


def prune(
    store: Store,
    paths: StatePaths,
    request: PruneRequest,
    *,
    announce: Callable[[PrunePlan], None] = lambda _: None,
) -> PruneResult:
    """Delete old messages and dead letters, by default into an archive, and clean up.

    First finishes the work of a killed prune. `announce` gets the plan before the work begins.
    Raises Conflict while another prune runs, Unavailable if the disk is full.
    """
    lock = os.open(f"{paths.locks}/{LOCK_NAME}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(
                "another prune is running", "git worker msg stats", code="locked"
            ) from None
        return _prune(store, paths, request, announce)
    finally:
        os.close(lock)


def _prune(
    store: Store, paths: StatePaths, request: PruneRequest, announce: Callable[[PrunePlan], None]
) -> PruneResult:
    ended = _settle_archives(store, paths)
    plan = plan_prune(store, request)
    announce(plan)
    archive = None
    if plan.messages or plan.dead_letters:
        number = _begin(store)
        if request.archiving:
            archive = _archive(store, paths, plan, request, number=number)
        else:
            _delete_old(store, plan, request, number=number)
        ended.append(number)
    if ended or store.fleet_machine is not None:  # another machine may have deleted messages
        _trim(store, paths)
    if ended:
        with store.write() as writer:
            for number in ended:
                end_archive(writer, number)
    with store.write(durable=False) as writer:
        budgets_cutoff_ms = clock.now_ms() - DAY_MS
        delete_leftovers(writer, cutoff_ms=request.cutoff_ms, budgets_cutoff_ms=budgets_cutoff_ms)
    collected = collect_blobs(store, paths.blobs, now_ms=clock.now_ms())
    return PruneResult(plan, archive, collected, _free_space(store))


def _trim(store: Store, paths: StatePaths) -> None:
    try:
        trim_bus_log(store, paths)
    except OSError as error:  # the journal stays open: the next prune tries again
        raise Unavailable(
            f"cannot rewrite {paths.bus_log}: {error.strerror}", "df -h", code="disk"
        ) from error


def _floor(reader: Reader, request: PruneRequest, *, machine: str | None) -> PruneFloor:
    """Return the floor: that of this machine, or of another one in its fleet if that is lower."""
    floor = own_floor(reader, living=request.living, since_ms=request.since_ms)
    if machine is not None:
        from gitworker.store.fleet.machines import other_machines  # only in a fleet

        for one in other_machines(reader, machine, since_ms=request.reported_since_ms):
            if one.needs_from < floor.seq:
                floor = PruneFloor(one.needs_from, f"machine {one.id}")
    return floor


def own_floor(reader: Reader, *, living: frozenset[str], since_ms: int) -> PruneFloor:
    """Return the floor by the cursors, which are those of this machine.

    A cursor without a time is the start of an agent that has not read yet.
    """
    cursors = [AckPosition(*cursor) for cursor in all_cursors(reader) if cursor.updated_at_ms]
    unread = []
    for cursor in cursors:
        if holds_back(cursor, living=living, since_ms=since_ms):
            unread.append((cursor.agent, first_unread(reader, cursor.agent, after=cursor.seq)))
    for agent in living - {cursor.agent for cursor in cursors}:
        unread.append((agent, first_addressed(reader, agent)))
    return lowest_floor(newest_seq(reader), unread)


def _old_stretch(store: Store, floor: int, cutoff_ms: int) -> tuple[int, int, int]:
    """Return the number of old messages below the floor, and the first and last of them.

    Messages are nearly in the order of their times: the search ends at the first window without an
    old message.
    """
    found = first = last = after = 0
    while True:
        with store.read() as reader:
            window = find_old_messages(
                reader, after, floor=floor, cutoff_ms=cutoff_ms, limit=WINDOW
            )
        if window is None:
            return found, first, last
        found += window.old
        first, last, after = first or window.first_old, window.last_old, window.last_seq


def _begin(store: Store) -> int:
    """Open a journal row for a prune; return its number."""
    with store.write() as writer:
        number = begin_archive(writer, now=clock.now_ms())
    crash_point("prune.journal")
    return number


def _archive(
    store: Store, paths: StatePaths, plan: PrunePlan, request: PruneRequest, *, number: int
) -> str:
    """Write the archive, then delete the rows that it contains; return its path."""
    partial = _partial(paths, number)
    rows = _old_rows(store, plan, request.cutoff_ms)
    lines = write_lines(partial, rows, blobs=paths.blobs)
    crash_point("prune.content")
    name = _free_name(paths, plan)
    with store.write() as writer:
        record_archive(writer, number, file=name, lines=lines)
    crash_point("prune.written")
    path = f"{paths.archive}/{name}"
    publish_file(partial, path)
    crash_point("prune.renamed")
    if not _finish(store, path, number=number, lines=lines):
        raise Unavailable(
            f"the archive {path} cannot be read back; nothing was pruned",
            "git worker doctor",
            code="archive_damaged",
        )
    return path


def _settle_archives(store: Store, paths: StatePaths) -> list[int]:
    """Finish killed prunes; return the numbers of those that deleted rows."""
    with store.read() as reader:
        unfinished = open_archives(reader)
    ended = []
    for number, file, lines, unarchived in unfinished:
        partial, path = _partial(paths, number), f"{paths.archive}/{file}"
        if file and os.path.exists(partial) and not os.path.exists(path):
            publish_file(partial, path)
        if file and os.path.exists(path):
            if _finish(store, path, number=number, lines=lines):
                ended.append(number)
            continue
        if unarchived:
            ended.append(number)
            continue
        if os.path.exists(partial):
            os.unlink(partial)
        with store.write() as writer:
            drop_archive(writer, number)
    return ended


def _finish(store: Store, path: str, *, number: int, lines: int) -> bool:
    """Delete the rows of an archive; rename an unreadable archive and delete nothing."""
    if not is_whole(path, lines):
        os.replace(path, f"{path}.damaged")
        with store.write() as writer:
            drop_archive(writer, number)
        return False
    entries = read_entries(path)
    while chunk := list(islice(entries, CHUNK)):
        seqs = [entry["seq"] for entry in chunk if "dead_letter" not in entry]
        letters = [entry["dead_letter"] for entry in chunk if "dead_letter" in entry]
        with store.write(durable=False) as writer:
            delete_archived(writer, seqs=seqs, dead_letters=letters)
        crash_point("prune.chunk")
        clock.sleep(PAUSE_S)
    return True


def _delete_old(store: Store, plan: PrunePlan, request: PruneRequest, *, number: int) -> None:
    """Delete in chunks without an archive; the journal row records an empty name."""
    with store.write() as writer:
        record_archive(writer, number, file="", lines=0)
    deleted = 1
    while deleted:
        with store.write(durable=False) as writer:
            deleted = delete_old_messages(
                writer, until=plan.last_seq, cutoff_ms=request.cutoff_ms, limit=CHUNK
            )
        crash_point("prune.chunk")
        clock.sleep(PAUSE_S)
    with store.write() as writer:
        delete_old_dead_letters(writer, request.cutoff_ms)


def _old_rows(store: Store, plan: PrunePlan, cutoff: int) -> Iterator[Archived]:
    """Yield the rows to archive: messages, then dead letters."""
    after = 0
    while True:
        with store.read() as reader:
            messages = old_messages(
                reader, after, until=plan.last_seq, cutoff_ms=cutoff, limit=CHUNK
            )
        if not messages:
            break
        yield from messages
        after = messages[-1].seq
    after = 0
    while True:
        with store.read() as reader:
            letters = old_dead_letters(reader, after, cutoff_ms=cutoff, limit=CHUNK)
        if not letters:
            return
        yield from letters
        after = letters[-1].id


def _free_name(paths: StatePaths, plan: PrunePlan) -> str:
    """Return an unused archive name, from the range of messages or the number of dead letters."""
    kind = "bus" if plan.messages else "dead-letters"
    first, last = (plan.first_seq, plan.last_seq) if plan.messages else (1, plan.dead_letters)
    attempt = 1
    while os.path.exists(f"{paths.archive}/{archive_name(kind, first, last, attempt)}"):
        attempt += 1
    return archive_name(kind, first, last, attempt)


def _partial(paths: StatePaths, number: int) -> str:
    return f"{paths.archive}/.bus-{number}.partial"


def _free_space(store: Store) -> int:
    """Return free pages to the file system, a few at a time; return the number of bytes."""
    with store.read() as reader:
        free = before = free_bytes(reader)
    while free:
        with store.write(durable=False) as writer:
            left = return_free_pages(writer)
        if left >= free:  # another program created the file without auto_vacuum
            break
        free = left
        clock.sleep(PAUSE_S)
    return before - free
