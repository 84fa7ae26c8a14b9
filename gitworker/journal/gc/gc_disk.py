"""Find the files that gc may delete: removed worktrees, verify worktrees, parked ones, logs."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from gitworker.journal.gc.rules_gc import DAY_MS, LOG, POOL, TRASH, VERIFY, GcRequest, Item, choose
from gitworker.model.ids import Oid, Ref
from gitworker.model.ref_names import RESCUES
from gitworker.repo.plumbing.refs import read_refs
from gitworker.repo.plumbing.repository_lock import hold
from gitworker.repo.rescue.trash import (
    CLAIMED,
    DOOMED,
    KEPT_DAYS,
    TrashEntry,
    delete_in_background,
    list_trash,
)
from gitworker.repo.rescue.unsaved import find_unsaved
from gitworker.session import Session
from gitworker.store.operations import Operation, find_operation
from gitworker.store.payloads.payload import AdoptData, RemovalData, rescue_of
from gitworker.store.payloads.spawn_data import SpawnData
from gitworker.verify.verify_worktree import Slot, idle_slots
from gitworker.worktrees.pool.hand_out import pool_root
from gitworker.worktrees.trashing import entry_name, trash_root

PARTIAL = "-partial"  # directories that `set_aside` moved there
SETTLING_MS = 2000  # files written during the move of a worktree count as written before


class DirectorySize(NamedTuple):
    """How large a directory is, and when anything in it was last written."""

    size_bytes: int
    newest_ms: int


def disk_items(session: Session) -> list[Item]:
    """Return all files of ours on the disk that gc may delete, with their sizes."""
    return [*_trash(session), *_logs(session), *_verify(session), *_pool(session)]


def check_unsaved(
    session: Session, items: list[Item], request: GcRequest, now_ms: int
) -> list[Item]:
    """Return the items; the selected worktrees are compared with the commits that keep their work.

    This reads every file of a worktree, so only selected ones are read, until all of them are.
    """
    checked: dict[Item, Item] = {}
    while True:
        found = [checked.get(item, item) for item in items]
        selected = choose(found, request, now_ms).selected
        new = [item for item in selected if item.kind == TRASH and item not in checked.values()]
        if not new:
            return found
        checked |= {
            item: replace(item, holds=item.holds or _unsaved_work(session, item, now_ms))
            for item in new
        }


def _unsaved_work(session: Session, item: Item, now_ms: int) -> str:
    """Return the work that would be lost with a trash entry, by comparing each file.

    For a week, bytes that git strips from a file count as work.
    """
    path = f"{trash_root(session)}/{item.name}"
    operation = _find_operation(session, item.target)
    commit = operation and _commit_keeping(operation, read_refs(session.git, [RESCUES]))
    if operation is None:  # of the pool, whose entries have the same form
        commit = Oid("HEAD") if os.path.isdir(f"{path}/admin") else None
    if commit is None:
        return ""
    return find_unsaved(
        session.git, path, commit,
        common_dir=session.repository.common_dir, exactly=now_ms - item.at_ms < KEPT_DAYS * DAY_MS,
    )  # fmt: skip


def disk_left(session: Session, items: Iterable[Item]) -> list[Item]:
    """Return those of these items on the disk that still exist."""
    roots = {TRASH: trash_root(session), LOG: session.paths.logs}
    return [
        item
        for item in items
        if item.kind in (VERIFY, POOL)
        or (item.kind in roots and os.path.lexists(f"{roots[item.kind]}/{item.name}"))
    ]


def delete_trash(session: Session, names: Sequence[str]) -> None:
    """Delete these directories of the trash in the background; absent is fine."""
    root = trash_root(session)
    with hold(session.worktree_lock, name="worktree"):  # no undo may restore one now
        for name in names:
            with suppress(FileNotFoundError):
                delete_in_background(f"{root}/{name}")


def delete_logs(session: Session, names: Sequence[str]) -> None:
    """Delete these files below `logs/`; absent is fine."""
    for name in names:
        with suppress(FileNotFoundError):
            os.unlink(f"{session.paths.logs}/{name}")


def delete_verify(session: Session, names: Sequence[str]) -> None:
    """Delete these verify worktrees, except those in use."""
    if not names:
        return
    for slot in idle_slots(session):
        try:
            if str(slot.number) in names:
                with hold(session.worktree_lock, name="worktree"):
                    slot.discard()
        finally:
            slot.release()


def _trash(session: Session) -> Iterator[Item]:
    root = trash_root(session)
    kept = read_refs(session.git, [RESCUES])
    entries = {entry.path: entry for entry in list_trash(root)}
    for name in _names(root):
        path = f"{root}/{name}"
        if name == ".git" or name.startswith((DOOMED, CLAIMED)) or not os.path.isdir(path):
            continue
        extent = measure(path)
        if path in entries:
            operation = _find_operation(session, entries[path].name)
            at_ms = operation.updated_at_ms if operation else extent.newest_ms
            holds = _recorded_loss(operation, entries[path], kept)
            yield Item(TRASH, name, at_ms, extent.size_bytes, holds, entries[path].name)
        elif name.rstrip("0123456789-").endswith(PARTIAL.rstrip("-")):
            yield Item(TRASH, name, extent.newest_ms, extent.size_bytes)


def _recorded_loss(operation: Operation | None, entry: TrashEntry, kept: Mapping[Ref, Oid]) -> str:
    """Return the work that would be lost with a removed worktree, by the records alone."""
    if (
        operation is None
        or entry_name(operation.worker_id, operation.task_id, operation.id) != entry.name
    ):
        return "a worktree that no recorded operation removed"
    written_ms = measure(entry.tree).newest_ms  # our own marks are beside the tree, not in it
    if written_ms > operation.updated_at_ms + SETTLING_MS:
        return "files that were written after it was removed"
    return "" if _commit_keeping(operation, kept) else "work that no rescue ref keeps"


def _commit_keeping(operation: Operation, kept: Mapping[Ref, Oid]) -> Oid | None:
    """Return the commit that keeps the removed work; of a rolled back spawn, its base."""
    data = operation.data
    if isinstance(data, SpawnData):
        return data.base
    if isinstance(data, AdoptData):  # undone, or rolled back: its branch has the name that it had
        return data.tip
    if isinstance(data, RemovalData) and operation.kind == "remove" and not data.dirty:
        return data.tip
    ref, _ = rescue_of(data)
    return kept.get(ref) if ref else None


def _find_operation(session: Session, name: str) -> Operation | None:
    number = name.rpartition("-")[2]
    if not number.isdigit():
        return None
    with session.store.read() as reader:
        return find_operation(reader, int(number))


def _logs(session: Session) -> Iterator[Item]:
    root = session.paths.logs
    for directory, _, names in os.walk(root):
        for name in names:
            path = f"{directory}/{name}"
            with suppress(OSError):
                stat = os.lstat(path)
                at_ms = stat.st_mtime_ns // 1_000_000
                yield Item(LOG, os.path.relpath(path, root), at_ms, stat.st_size)


def _verify(session: Session) -> Iterator[Item]:
    slots = idle_slots(session)
    try:
        for slot in slots:
            if os.path.isdir(slot.tree):
                extent = measure(slot.tree)
                yield Item(VERIFY, str(slot.number), _used_ms(session, slot), extent.size_bytes)
    finally:
        for slot in slots:
            slot.release()


def _used_ms(session: Session, slot: Slot) -> int:
    """Return when a verify worktree was last switched to a commit."""
    for path in (f"{session.paths.root}/verify/{slot.number}.index", slot.tree):
        with suppress(OSError):
            return os.stat(path).st_mtime_ns // 1_000_000
    return 0


def _pool(session: Session) -> Iterator[Item]:
    """Yield the whole pool if the settings disable it; else it is in use."""
    root = pool_root(session)
    if session.settings.worktree_pool == 0 and os.path.isdir(root):
        extent = measure(root)
        yield Item(POOL, "pool", extent.newest_ms, extent.size_bytes)


def measure(path: str) -> DirectorySize:
    """Return the size of a directory on the disk; unreadable parts count nothing.

    Other file systems mounted inside are skipped.
    """
    size = newest = 0
    try:
        device = os.lstat(path).st_dev
    except OSError:
        return DirectorySize(0, 0)
    stack = [path]
    while stack:
        with suppress(OSError), os.scandir(stack.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    stat = entry.stat(follow_symlinks=False)
                    if stat.st_dev != device:
                        continue
                    size += stat.st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        stack.append(entry.path)
                    else:
                        newest = max(newest, stat.st_mtime_ns // 1_000_000)
    return DirectorySize(size, newest or os.lstat(path).st_mtime_ns // 1_000_000)


def _names(root: str) -> list[str]:
    try:
        return sorted(os.listdir(root))
    except OSError:
        return []
