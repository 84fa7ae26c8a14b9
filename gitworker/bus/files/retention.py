"""Retention: old messages that every living agent has read go into an archive, then away.

The order makes a kill harmless at any point: journal, archive file on disk, its name journalled,
rename, and only then are rows deleted, driven by what the archive holds when it is read back; then
bus.jsonl is written anew and the journal closed. The next run finishes an archive whose name is
journalled and throws any other away.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from gitworker import clock
from gitworker.bus.files.archive import is_whole, publish_file, read_entries, write_lines
from gitworker.bus.files.collect_blobs import Collected, collect_blobs
from gitworker.bus.files.export import trim_bus_log
from gitworker.bus.files.rules_retention import (
    DAY_MS,
    Cursor,
    Floor,
    archive_name,
    holds_back,
    lowest_floor,
)
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, Unavailable
from gitworker.paths import StatePaths
from gitworker.store.api import Reader, Row, Store

CHUNK = 500
PAUSE_S = 0.005  # between two chunks, outside the gate: publishers do not feel us
WINDOW = 5000
LOCK_NAME = "prune"


class Wish(NamedTuple):
    """What to prune: messages older than `cutoff_ms`, and dead letters.

    What a living agent has not read stays; so does what somebody has not read who acknowledged
    anything since `since_ms`. Of a living agent that never acknowledged, what is to it alone stays.
    """

    cutoff_ms: int
    living: frozenset[str]
    since_ms: int
    archiving: bool = True


class Plan(NamedTuple):
    """What a prune would take: old messages up to a position, and dead letters.

    `held_by` is the living agent whose unread messages end it, None where age alone does.
    """

    messages: int
    first_seq: int
    last_seq: int
    dead_letters: int
    held_by: str | None


class Pruned(NamedTuple):
    """What a prune took, where it lies, and what it gave back."""

    plan: Plan
    archive: str | None
    collected: Collected
    freed_bytes: int


def plan_prune(store: Store, wish: Wish) -> Plan:
    """Return what a prune would take now, reading only."""
    with store.read() as reader:
        floor = _floor(reader, wish)
        row = reader.row("retention.count_dead_letters", cutoff_ms=wish.cutoff_ms)
    dead_letters = int(row["number"]) if row else 0
    messages, first_seq, last_seq = _old_stretch(store, floor.seq, wish.cutoff_ms)
    return Plan(messages, first_seq, last_seq, dead_letters, floor.agent)


def prune(
    store: Store,
    paths: StatePaths,
    wish: Wish,
    *,
    announce: Callable[[Plan], None] = lambda _: None,
) -> Pruned:
    """Take old messages and dead letters away, into an archive where asked for, and tidy up.

    Also ends what a killed prune has left. `announce` is told the plan before the work begins.
    Raises Conflict while another prune runs, Unavailable where the disk is full.
    """
    lock = os.open(f"{paths.locks}/{LOCK_NAME}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(
                "another prune is running", "git worker msg stats", code="locked"
            ) from None
        return _prune(store, paths, wish, announce)
    finally:
        os.close(lock)


def _prune(store: Store, paths: StatePaths, wish: Wish, announce: Callable[[Plan], None]) -> Pruned:
    ended = _settle_archives(store, paths)
    plan = plan_prune(store, wish)
    announce(plan)
    archive = None
    if plan.messages or plan.dead_letters:
        number = _begin(store)
        if wish.archiving:
            archive = _archive(store, paths, plan, wish, number=number)
        else:
            _delete_old(store, plan, wish, number=number)
        ended.append(number)
    if ended:
        _trim(store, paths)
        with store.write() as writer:
            for number in ended:
                writer.run("retention.archive_done", id=number)
    with store.write(durable=False) as writer:
        writer.run("retention.delete_stray_deliveries")
        writer.run("retention.delete_old_rewrites", cutoff_ms=wish.cutoff_ms)
        writer.run("retention.delete_old_runs", cutoff_ms=wish.cutoff_ms)
        writer.run("retention.delete_old_budgets", cutoff_ms=clock.now_ms() - DAY_MS)
    collected = collect_blobs(store, paths.blobs, now_ms=clock.now_ms())
    return Pruned(plan, archive, collected, _give_back(store))


def _trim(store: Store, paths: StatePaths) -> None:
    try:
        trim_bus_log(store, paths)
    except OSError as error:  # the journal stays open: the next prune tries again
        raise Unavailable(
            f"cannot rewrite {paths.bus_log}: {error.strerror}", "df -h", code="disk"
        ) from error


def _floor(reader: Reader, wish: Wish) -> Floor:
    newest = reader.row("messages.last_seq")
    cursors = [
        Cursor(row["agent_id"], row["last_acked_seq"], row["updated_at_ms"])
        for row in reader.rows("retention.cursors")
    ]
    unread = []
    for cursor in cursors:
        if holds_back(cursor, living=wish.living, since_ms=wish.since_ms):
            row = reader.row("retention.first_unread", agent=cursor.agent, after=cursor.seq)
            unread.append((cursor.agent, row["seq"] if row else None))
    for agent in wish.living - {cursor.agent for cursor in cursors}:
        row = reader.row("retention.first_addressed", agent=agent)
        unread.append((agent, row["seq"] if row else None))
    return lowest_floor(int(newest["seq"]) if newest else 0, unread)


def _old_stretch(store: Store, floor: int, cutoff_ms: int) -> tuple[int, int, int]:
    """Return how many messages below the floor are old, and the first and last of them.

    Messages are nearly in the order of their times: the search ends where a whole window is young.
    """
    found = first = last = after = 0
    while True:
        with store.read() as reader:
            row = reader.row(
                "retention.window", after=after, floor=floor, cutoff_ms=cutoff_ms, limit=WINDOW
            )
        if row is None or not row["old"]:
            return found, first, last
        found += row["old"]
        first, last, after = first or row["first_old"], row["last_old"], row["last_seq"]


def _begin(store: Store) -> int:
    """Journal that a prune begins; return its number."""
    with store.write() as writer:
        writer.run("retention.begin_archive", now=clock.now_ms())
        row = writer.row("retention.newest_archive")
    crash_point("prune.journal")
    return int(row["id"]) if row else 0


def _archive(store: Store, paths: StatePaths, plan: Plan, wish: Wish, *, number: int) -> str:
    """Write the archive, then delete what it holds; return its path."""
    partial = _partial(paths, number)
    rows = _old_rows(store, plan, wish.cutoff_ms)
    lines = write_lines(partial, rows, blobs=paths.blobs)
    crash_point("prune.content")
    name = _free_name(paths, plan)
    with store.write() as writer:
        writer.run("retention.archive_written", id=number, file=name, lines=lines)
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
    """End what killed prunes left; return the numbers of those that have deleted rows."""
    with store.read() as reader:
        rows = reader.rows("retention.open_archives")
    ended = []
    for row in rows:
        number, partial = int(row["id"]), _partial(paths, int(row["id"]))
        path = f"{paths.archive}/{row['file']}"
        if row["file"] and os.path.exists(partial) and not os.path.exists(path):
            publish_file(partial, path)
        if row["file"] and os.path.exists(path):
            if _finish(store, path, number=number, lines=int(row["lines"])):
                ended.append(number)
            continue
        if row["unarchived"]:
            ended.append(number)
            continue
        if os.path.exists(partial):
            os.unlink(partial)
        with store.write() as writer:
            writer.run("retention.drop_archive", id=number)
    return ended


def _finish(store: Store, path: str, *, number: int, lines: int) -> bool:
    """Delete what an archive holds; one that cannot be read is set aside, and nothing deleted."""
    if not is_whole(path, lines):
        os.replace(path, f"{path}.damaged")
        with store.write() as writer:
            writer.run("retention.drop_archive", id=number)
        return False
    entries = read_entries(path)
    while chunk := list(islice(entries, CHUNK)):
        seqs = [entry["seq"] for entry in chunk if "dead_letter" not in entry]
        letters = [entry["dead_letter"] for entry in chunk if "dead_letter" in entry]
        with store.write(durable=False) as writer:
            writer.run("retention.delete_messages", seqs=json.dumps(seqs))
            writer.run("retention.delete_dead_letters", ids=json.dumps(letters))
        crash_point("prune.chunk")
        clock.sleep(PAUSE_S)
    return True


def _delete_old(store: Store, plan: Plan, wish: Wish, *, number: int) -> None:
    """Delete without an archive, in chunks; the journal has it as written, under no name."""
    with store.write() as writer:
        writer.run("retention.archive_written", id=number, file="", lines=0)
    gone = 1
    while gone:
        with store.write(durable=False) as writer:
            gone = writer.run(
                "retention.delete_old",
                until=plan.last_seq,
                cutoff_ms=wish.cutoff_ms,
                limit=CHUNK,
            )
        crash_point("prune.chunk")
        clock.sleep(PAUSE_S)
    with store.write() as writer:
        writer.run("retention.delete_old_dead_letters", cutoff_ms=wish.cutoff_ms)


def _old_rows(store: Store, plan: Plan, cutoff: int) -> Iterator[Row]:
    """Yield the lines of what is to go: messages, then dead letters."""
    after = 0
    while True:
        with store.read() as reader:
            rows = reader.rows(
                "retention.old_lines",
                after=after,
                until=plan.last_seq,
                cutoff_ms=cutoff,
                limit=CHUNK,
            )
        if not rows:
            break
        yield from rows
        after = rows[-1]["seq"]
    after = 0
    while True:
        with store.read() as reader:
            rows = reader.rows(
                "retention.old_dead_letters", after=after, cutoff_ms=cutoff, limit=CHUNK
            )
        if not rows:
            return
        yield from rows
        after = rows[-1]["id"]


def _free_name(paths: StatePaths, plan: Plan) -> str:
    """Return a name that no archive has: of the stretch, or of how many dead letters alone."""
    kind = "bus" if plan.messages else "dead-letters"
    first, last = (plan.first_seq, plan.last_seq) if plan.messages else (1, plan.dead_letters)
    attempt = 1
    while os.path.exists(f"{paths.archive}/{archive_name(kind, first, last, attempt)}"):
        attempt += 1
    return archive_name(kind, first, last, attempt)


def _partial(paths: StatePaths, number: int) -> str:
    return f"{paths.archive}/.bus-{number}.partial"


def _give_back(store: Store) -> int:
    """Give free pages back to the file system, a few at a time; return how many bytes went."""
    with store.read() as reader:
        size = reader.row("retention.page_size")
        free = before = _free_pages(reader)
    while free:
        with store.write(durable=False) as writer:
            writer.rows("retention.vacuum_step")
            left = _free_pages(writer)
        if left >= free:  # a file that another program made without auto_vacuum
            break
        free = left
        clock.sleep(PAUSE_S)
    return (before - free) * int(size["page_size"]) if size else 0


def _free_pages(reader: Reader) -> int:
    row = reader.row("retention.free_pages")
    return int(row["freelist_count"]) if row else 0
