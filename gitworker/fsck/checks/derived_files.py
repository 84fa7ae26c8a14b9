"""Views, reviews, logs, large payloads, trash and excludes agree with the database."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from gitworker import clock
from gitworker.bus.blobs import PREFIX, is_blob_ref
from gitworker.bus.files.export import (
    BUS,
    ExportLock,
    export_held,
    read_lines,
)
from gitworker.errors import GitWorkerError
from gitworker.fsck.finding import Finding
from gitworker.fsck.picture import JournalRow, Picture
from gitworker.fsck.rules_records import is_forgotten
from gitworker.lifecycle.state_files import expected_views, publish_views
from gitworker.model.worker import WorkerState
from gitworker.paths import open_regular
from gitworker.repo.rescue.trash import list_trash
from gitworker.rules_text import quoted
from gitworker.session import Session
from gitworker.store.fleet.machines import not_followed
from gitworker.store.messages.log_positions import TRANSITIONS, find_log_position
from gitworker.store.operations import replace_data
from gitworker.store.payloads.payload import RemovalData
from gitworker.store.records.findings import named_payloads
from gitworker.worktrees.trashing import entry_name, trash_root

ATTEMPTS = ("attempt", "max_attempts")
HEARTBEAT = "last_heartbeat"  # a heartbeat changes the file without a transaction
PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.4)


def check_views(picture: Picture) -> Iterator[Finding]:
    """Find state files and review files that differ from the rows.

    A command changes the row first and then the file, so a difference is read several times. What
    other machines of a fleet have changed is left to the job that follows them.
    """
    session = picture.session
    wrong = {
        worker.worker_id: _wrong_views(session, worker.worker_id) for worker in picture.workers
    }
    for pause_s in PAUSES_S:
        wrong = {name: codes for name, codes in wrong.items() if codes}
        if wrong:
            clock.sleep(pause_s)
            behind = _not_followed(session)
            wrong = {name: _wrong_views(session, name) for name in wrong if name not in behind}
    for name, codes in wrong.items():
        for code, path in codes:
            flaw = "differs from the database" if os.path.exists(path) else "is missing"
            repair = partial(_publish, name=name)
            yield Finding(code, path, f"{path} {flaw}", "writes it again", repair)


def _not_followed(session: Session) -> frozenset[str]:
    if session.store.fleet_machine is None:
        return frozenset()
    with session.store.read() as reader:
        return not_followed(reader)


def _wrong_views(session: Session, name: str) -> list[tuple[str, str]]:
    """Return the codes and paths of a worker's files that differ from its rows."""
    wrong = []
    for folder, wanted in expected_views(session, name).items():
        path = f"{folder}/{name}.json"
        found = _read_json(path) or {}
        if wanted is not None and _lasting(found) != _lasting(wanted):
            code = "view_wrong" if folder == session.paths.workers else "review_wrong"
            wrong.append((code, path))
    return wrong


def _lasting(view: dict[str, Any]) -> dict[str, Any]:
    """Return a view without its heartbeat, and without the attempts of a task that goes on.

    Another worker may have the task of a failed one, and counts its attempts.
    """
    volatile = {HEARTBEAT, *(ATTEMPTS if view.get("state") == WorkerState.FAILED else ())}
    return {key: value for key, value in view.items() if key not in volatile}


def check_logs(picture: Picture) -> Iterator[Finding]:
    """Find log files with missing or other lines, up to the exported position."""
    paths = picture.session.paths
    for log, path in ((BUS, paths.bus_log), (TRANSITIONS, paths.transition_log)):
        wrong = _first_wrong(picture.session, log, path)
        if wrong is not None:  # an export may be running
            with suppress(GitWorkerError), ExportLock(paths):
                wrong = _first_wrong(picture.session, log, path)
        if wrong is not None:
            yield Finding(
                "log_gap", path, f"{path} differs from the database from line {wrong} on",
                "moves it to archive/ and writes it again",
                partial(_write_log, log=log, path=path),
            )  # fmt: skip


def _first_wrong(session: Session, log: str, path: str) -> int | None:
    """Return the first line of a log file that is not the next one of the database.

    Lines of messages that the table no longer has (archived, or another program's) are skipped.
    Lines that are not exported yet do not count.
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
    """Yield the lines of the tables up to a position, with their sequence numbers."""
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
    """Return whether a line of bus.jsonl is older than a sequence number."""
    try:
        return int(json.loads(line)["seq"]) < seq
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def check_blobs(picture: Picture) -> Iterator[Finding]:
    """Find large payloads that are missing, changed, or that no message names."""
    paths = picture.session.paths
    with picture.session.store.read() as reader:
        named = named_payloads(reader)
    try:
        present = {entry.name: entry.path for entry in os.scandir(paths.blobs)}
    except OSError:
        present = {}
    for ref, place in sorted(named.items()):
        if is_blob_ref(ref) and ref not in present:
            yield Finding(
                "blob_gone", ref, f"the large payload of {place} is missing: {paths.blobs}/{ref}",
                f"ls {quoted(paths.archive)}   # move {ref} from there to blobs/, if it is there",
            )  # fmt: skip
    for name, path in sorted(present.items()):
        if not is_blob_ref(name):
            continue
        if name not in named:
            if is_forgotten(_age_ms(path)):
                message = f"no message names the large payload {path}"
                repair = partial(_archive, path=path)
                yield Finding("blob_left", path, message, "moves it to archive/", repair)
        elif PREFIX + _digest(path) != name:
            message = f"the content of {path} does not match its name: it was changed or truncated"
            yield Finding(
                "blob_wrong",
                path,
                message,
                f"ls -l {quoted(path)}   # restore it from a copy: the payload of {named[name]}",
            )


def check_trash(picture: Picture) -> Iterator[Finding]:
    """Find removed worktrees without an operation, and operations whose worktree is missing."""
    session = picture.session
    named = {entry_name(one.worker, one.task, one.id): one for one in picture.operations}
    roots = {
        one.data.trash
        for one in picture.operations
        if isinstance(one.data, RemovalData) and one.data.trash
    }
    present = set()
    for root in sorted({trash_root(session), *roots}):
        for entry in list_trash(root):
            present.add(entry.name)
            if entry.name not in named:
                yield Finding(
                    "trash_unknown", entry.path,
                    f"no recorded operation removed {entry.path} ({entry.worktree})",
                    f"mv {quoted(entry.path)} {quoted(f'{session.main_top}-{entry.name}')}"
                    "   # its files are in tree/ there",
                )  # fmt: skip
    for name, operation in named.items():
        data = operation.data
        done = operation.status == "done" and name not in present
        if done and isinstance(data, RemovalData):
            yield from _not_in_trash(picture, name, operation, data)


def _not_in_trash(
    picture: Picture, name: str, operation: JournalRow, data: RemovalData
) -> Iterator[Finding]:
    clean = operation.kind == "remove" and not data.dirty  # deleted in the background
    if clean or not data.worktree or name in picture.emptied or data.trash_gone:
        return
    kept = f"; {data.rescue} keeps its work" if data.rescue in picture.refs else ""
    yield Finding(
        "trash_gone", name,
        f"the worktree that {operation.kind} {operation.id} removed is not in {data.trash}{kept}",
        "records that it is missing: an undo makes a new worktree",
        partial(_note_missing, operation=operation, data=data),
    )  # fmt: skip


def _note_missing(session: Session, *, operation: JournalRow, data: RemovalData) -> None:
    replace_data(session.store, operation.id, data._replace(trash_gone=True))


def _archive(session: Session, *, path: str) -> None:
    os.makedirs(session.paths.archive, exist_ok=True)
    os.rename(path, f"{session.paths.archive}/{os.path.basename(path)}")


def _write_log(session: Session, *, log: str, path: str) -> None:
    """Move a log file to the archive and export it from the start."""
    with ExportLock(session.paths):
        if os.path.exists(path):
            stamp = clock.iso_utc(clock.now_ms()).replace(":", "")
            os.makedirs(session.paths.archive, exist_ok=True)
            os.rename(path, f"{session.paths.archive}/{log}-broken-{stamp}.jsonl")
        export_held(session.store, session.paths)


def _publish(session: Session, *, name: str) -> None:
    publish_views(session, name)


def _read_json(path: str) -> dict[str, Any] | None:
    try:
        with open(path, encoding="utf-8", opener=open_regular) as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _age_ms(path: str) -> int:
    try:
        return clock.now_ms() - os.stat(path).st_mtime_ns // 1_000_000
    except OSError:
        return 0


def _digest(path: str) -> str:
    from hashlib import file_digest  # 3 ms, only for large payloads

    try:
        with open(path, "rb", opener=open_regular) as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
