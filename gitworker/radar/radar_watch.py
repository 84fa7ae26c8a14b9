"""The radar in the background: looks at branches that moved, and warns of conflicts that are new.

One process at a time. What is due is a row until it was looked at, and a warning is a row written
with its messages: a radar that is killed loses no warning and doubles none.
"""

import json
import os
from contextlib import suppress

from gitworker import clock
from gitworker.bus.files.export import export_logs
from gitworker.bus.following.bell import ring_bell
from gitworker.bus.jobs.radar_job import is_radar_due, lock_path, watched_branches
from gitworker.bus.publish import Outgoing, publish
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict
from gitworker.model.ids import HQ, Branch, Ref, ref_of
from gitworker.model.message import MessageType
from gitworker.radar.radar import Blip, Meeting, survey
from gitworker.radar.radar_text import few_files
from gitworker.repo.plumbing.lock import hold_descriptor
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.workers import Worker, all_workers

LOCK_TIMEOUT_MS = 200  # whoever only asks whether a radar runs has the lock for an instant
WAITS_AT_MOST = 5  # delays, where branches never stop moving
RETRY_MS = 60_000
FILES_SHOWN = 50

Due = dict[Ref, int]  # when each branch moved


def watch_branches(session: Session) -> int:
    """Look at what moved until nothing is due; return how many warnings were published.

    Ends at once where another process does it. What moves while it ends finds its lock held and
    rings up no other: once the lock is free it looks again. After a failure, which is raised, what
    is due is left alone for a minute.
    """
    warned = 0
    while _is_due(session):
        try:
            lock = hold_descriptor(
                lock_path(session),
                deadline_ms=clock.monotonic_ms() + LOCK_TIMEOUT_MS,
                complaint="another radar runs",
            )
        except Conflict:
            break
        try:
            while _is_due(session):
                _settle_down(session)
                warned += look(session)
        except Exception:
            until = clock.now_ms() + RETRY_MS
            session.store.write_one("radar.put_off", durable=False, until=until)
            raise
        finally:
            os.close(lock)
    return warned


def look(session: Session) -> int:
    """Look once at the branches that moved; return how many warnings were published."""
    with session.store.read() as reader:
        workers = all_workers(reader)
        rows = reader.rows("radar.due", now=clock.now_ms())
    watched = watched_branches(workers)
    due = {Ref(row["ref"]): int(row["ts_ms"]) for row in rows}
    due = {ref: ts for ref, ts in due.items() if ref in watched or ref == session.target}
    found = survey(session, workers, chosen=due.keys())
    crash_point("radar-looked")
    with session.store.write() as writer:
        warned = sum(_tell(writer, meeting) for meeting in found.meetings)
        for ref, ts_ms in due.items():
            writer.run("radar.looked_at", ref=ref, ts_ms=ts_ms)
        _forget(writer, session, workers)
    crash_point("radar-told")
    if warned:
        with suppress(OSError):  # the next command brings them up to date
            export_logs(session.store, session.paths)
        ring_bell(session.paths.bell)
    return warned


def _is_due(session: Session) -> bool:
    with session.store.read() as reader:
        workers = all_workers(reader)
    return is_radar_due(session, workers)


def _settle_down(session: Session) -> None:
    """Wait until no branch has moved for a while, so that several commits are looked at once."""
    delay_ms = session.settings.radar_delay_s * 1000
    until = clock.monotonic_ms() + WAITS_AT_MOST * delay_ms
    while clock.monotonic_ms() < until:
        with session.store.read() as reader:
            row = reader.row("radar.due", now=clock.now_ms())
        left_ms = 0 if row is None else row["ts_ms"] + delay_ms - clock.now_ms()
        if left_ms <= 0:
            return
        clock.sleep(min(left_ms, delay_ms) / 1000)


def _tell(writer: Writer, meeting: Meeting) -> int:
    """Warn both workers of a conflict that they do not know yet; return how many were warned."""
    one, other = sorted((meeting.one, meeting.other))
    if meeting.files == ():
        writer.run("radar.forget_warning", one=one.ref, other=other.ref)
    if not meeting.files:
        return 0
    now = clock.now_ms()
    if not writer.run("radar.warn", one=one.ref, other=other.ref, now=now):
        return 0
    told = [(one, other), (other, one)]
    messages = [_warning(meeting, to, by) for to, by in told if to.worker is not None]
    for message in messages:
        publish(writer, message, now=now)
    return len(messages)


def _warning(meeting: Meeting, to: Blip, by: Blip) -> Outgoing:
    files = meeting.files or ()
    note = f"conflicts with {by.name} in {few_files(files)}"
    return Outgoing(
        MessageType.CONFLICT_WARNING,
        sender=HQ,
        to=to.worker,
        correlation_id=to.task,
        payload={
            "with": by.name, "with_task": by.task, "with_branch": by.branch,
            "with_commit": by.tip, "branch": to.branch, "commit": to.tip,
            "files": list(files[:FILES_SHOWN]), "files_count": len(files), "note": note,
        },
    )  # fmt: skip


def _forget(writer: Writer, session: Session, workers: list[Worker]) -> None:
    """Drop what is due and what was told of branches that are nobody's any more."""
    held = [ref_of(Branch(worker.branch)) for worker in workers if worker.branch]
    watched = watched_branches(workers)
    writer.run("radar.forget_due", refs=json.dumps([session.target, *held]))
    writer.run("radar.forget_warnings", refs=json.dumps([session.target, *watched]))
