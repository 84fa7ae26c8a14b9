"""Views, reviews, logs, large payloads, trash and excludes agree with the database."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from gitworker import clock
from gitworker.bus.blobs import PREFIX, is_blob_ref
from gitworker.bus.files.export import (
    BUS,
    TRANSITIONS,
    ExportLock,
    export_held,
    read_lines,
)
from gitworker.errors import GitWorkerError
from gitworker.fsck.finding import Finding, Repair
from gitworker.fsck.picture import JournalRow, Picture
from gitworker.fsck.rules import is_forgotten
from gitworker.lifecycle.state_files import expected_views, publish_views
from gitworker.paths import open_regular
from gitworker.repo.rescue.trash import list_trash
from gitworker.session import Session
from gitworker.store.messages.log_positions import find_log_position
from gitworker.store.operations import replace_data
from gitworker.store.payloads.payload import RemovalData
from gitworker.store.records.findings import named_payloads
from gitworker.worktrees.trashing import entry_name, trash_root

BEAT = "last_heartbeat"  # a beat tells it without a transaction
PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.4)


def check_views(picture: Picture) -> Iterator[Finding]:
    """Find state files and review files that do not say what the rows say.

    Whoever changes a row writes the file right afterwards: what is wrong is looked at again.
    """
    session = picture.session
    wrong = {
        worker.worker_id: _wrong_views(session, worker.worker_id) for worker in picture.workers
    }
    for pause_s in PAUSES_S:
        wrong = {name: codes for name, codes in wrong.items() if codes}
        if wrong:
            clock.sleep(pause_s)
            wrong = {name: _wrong_views(session, name) for name in wrong}
    for name, codes in wrong.items():
        for code, path in codes:
            how = "does not say what the database says" if os.path.exists(path) else "is missing"
            yield Finding(code, path, f"{path} {how}", "writes it again", _publish(name))


def _wrong_views(session: Session, name: str) -> list[tuple[str, str]]:
    """Return which files of a worker do not say what its rows say now, with their codes."""
    wrong = []
    for folder, wanted in expected_views(session, name).items():
        path = f"{folder}/{name}.json"
        found = _read_json(path) or {}
        differs = wanted is not None and {**found, BEAT: None} != {**wanted, BEAT: None}
        if differs:
            code = "view_wrong" if folder == session.paths.workers else "review_wrong"
            wrong.append((code, path))
    return wrong


def check_logs(picture: Picture) -> Iterator[Finding]:
    """Find log files that lack lines, or have others, up to where they are written."""
    paths = picture.session.paths
    for log, path in ((BUS, paths.bus_log), (TRANSITIONS, paths.transition_log)):
        wrong = _first_wrong(picture.session, log, path)
        if wrong is not None:  # unless somebody was just writing it
            with suppress(GitWorkerError), ExportLock(paths):
                wrong = _first_wrong(picture.session, log, path)
        if wrong is not None:
            yield Finding(
                "log_gap", path, f"{path} is not what the database holds, from line {wrong} on",
                "keeps the file in archive/ and writes it again", _write_log(log, path),
            )  # fmt: skip


def _first_wrong(session: Session, log: str, path: str) -> int | None:
    """Return the first line of a log file that is not the next one of the database.

    Lines of messages that the table no longer has (archived, or a foreign program's) are passed
    by. What is not written yet is nobody's fault.
    """
    with session.store.read() as reader:
        position = find_log_position(reader, log)
    if position is None or position.last_seq == 0:
        return None
    if not os.path.isfile(path):
        return 1
    number = 0
    with open(path, "rb", opener=open_regular) as file:
        for seq, wanted in _wanted(session, log, until=position.last_seq):
            line = b""
            while line != wanted:
                number += 1
                line = file.readline()
                if line != wanted and (log != BUS or not line or not _is_older(line, seq)):
                    return number
    return None


def _wanted(session: Session, log: str, *, until: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that the tables hold up to a position, with their sequence."""
    after = 0
    while True:
        with session.store.read() as reader:
            lines = read_lines(reader, log, after)
        for after, line in lines:
            if after <= until and line is not None:
                yield after, line.decode("utf-8", "replace").encode() + b"\n"
        if not lines or after > until:
            return


def _is_older(line: bytes, seq: int) -> bool:
    """Tell whether a line of bus.jsonl is of a message before another."""
    try:
        return int(json.loads(line)["seq"]) < seq
    except (ValueError, TypeError, KeyError):
        return False


def check_blobs(picture: Picture) -> Iterator[Finding]:
    """Find large payloads that are gone, are not what their name says, or that nobody names."""
    directory = picture.session.paths.blobs
    with picture.session.store.read() as reader:
        named = named_payloads(reader)
    try:
        present = {entry.name: entry.path for entry in os.scandir(directory)}
    except OSError:
        present = {}
    for ref, place in sorted(named.items()):
        if is_blob_ref(ref) and ref not in present:
            yield Finding(
                "blob_gone", ref, f"the large payload of {place} is gone: {directory}/{ref}",
                "zgrep in archive/ whether it was kept there",
            )  # fmt: skip
    for name, path in sorted(present.items()):
        if not is_blob_ref(name):
            continue
        if name not in named:
            if is_forgotten(_age_ms(path)):
                yield Finding(
                    "blob_left", path, f"no message names the large payload {path}",
                    "moves it to archive/", _archive(path),
                )  # fmt: skip
        elif PREFIX + _digest(path) != name:
            yield Finding(
                "blob_wrong", path, f"{path} is not what its name says: it was changed or cut",
                f"restore it from a copy ({named[name]})",
            )  # fmt: skip


def check_trash(picture: Picture) -> Iterator[Finding]:
    """Find removed worktrees that no act knows of, and acts whose worktree is not in the trash."""
    session = picture.session
    acts = {entry_name(act.worker, act.task, act.id): act for act in picture.acts}
    roots = {
        act.data.trash
        for act in picture.acts
        if isinstance(act.data, RemovalData) and act.data.trash
    }
    present = set()
    for root in sorted({trash_root(session), *roots}):
        for entry in list_trash(root):
            present.add(entry.name)
            if entry.name not in acts:
                yield Finding(
                    "trash_unknown", entry.path,
                    f"{entry.path} ({entry.worktree}) was removed by no act on record",
                    f"git worker gc --unlanded   (or look at it: ls {entry.tree})",
                )  # fmt: skip
    for name, act in acts.items():
        data = act.data
        if isinstance(data, RemovalData) and act.status == "done" and name not in present:
            yield from _not_in_trash(picture, name, act, data)


def _not_in_trash(
    picture: Picture, name: str, act: JournalRow, data: RemovalData
) -> Iterator[Finding]:
    clean = act.kind == "remove" and not data.dirty  # deleted in the background
    if clean or not data.worktree or name in picture.emptied or data.trash_gone:
        return
    kept = f"; {data.rescue} keeps its work" if data.rescue in picture.refs else ""
    yield Finding(
        "trash_gone", name,
        f"the worktree that {act.kind} {act.id} removed is not in {data.trash}{kept}",
        "notes that it is gone: an undo makes a new worktree",
        _note_gone(act, data),
    )  # fmt: skip


def _note_gone(act: JournalRow, data: RemovalData) -> Repair:
    def mend(session: Session) -> None:
        replace_data(session.store, act.id, data._replace(trash_gone=True))

    return mend


def _archive(path: str) -> Repair:
    def mend(session: Session) -> None:
        os.makedirs(session.paths.archive, exist_ok=True)
        os.rename(path, f"{session.paths.archive}/{os.path.basename(path)}")

    return mend


def _write_log(log: str, path: str) -> Repair:
    """Return the mend that puts a log file aside and lets the export write it from the start."""

    def mend(session: Session) -> None:
        with ExportLock(session.paths):
            if os.path.exists(path):
                stamp = clock.iso_utc(clock.now_ms()).replace(":", "")
                os.makedirs(session.paths.archive, exist_ok=True)
                os.rename(path, f"{session.paths.archive}/{log}-broken-{stamp}.jsonl")
            export_held(session.store, session.paths)

    return mend


def _publish(worker: str) -> Repair:
    return lambda session: publish_views(session, worker)


def _read_json(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8", opener=open_regular) as file:
            found = json.load(file)
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _age_ms(path: str) -> int:
    try:
        return clock.now_ms() - os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return 0


def _digest(path: str) -> str:
    from hashlib import file_digest  # 3 ms, only where there are large payloads

    try:
        with open(path, "rb", opener=open_regular) as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
