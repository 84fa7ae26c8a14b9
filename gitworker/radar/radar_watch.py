"""The radar job: check branches that moved, and warn of new conflicts.

One process at a time. A branch is due by a row until it was checked, and a warning is a row written
with its messages: a radar that is killed neither loses nor repeats a warning.
"""

import os
from contextlib import suppress

from gitworker import clock
from gitworker.bus.files.export import export_logs
from gitworker.bus.following.notify_followers import notify_followers
from gitworker.bus.jobs.radar_job import is_radar_due, lock_path, targets_of, watched_branches
from gitworker.bus.publish import Outgoing, publish
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict
from gitworker.model.ids import HQ
from gitworker.model.message import MessageType
from gitworker.observe.text import few_files
from gitworker.radar.radar import BranchPair, RadarBranch, survey
from gitworker.repo.plumbing.repository_lock import hold_descriptor
from gitworker.session import Session
from gitworker.store.api import Writer
from gitworker.store.commits.conflict_warnings import (
    add_warning,
    end_due,
    forget_other_due,
    forget_other_warnings,
    forget_warning,
    newest_due,
    put_off_radar,
)
from gitworker.store.workers import Worker, all_workers

LOCK_TIMEOUT_MS = 200  # a process that only tests for a radar holds the lock for an instant
WAITS_AT_MOST = 5  # delays, if branches never stop moving
RETRY_MS = 60_000
FILES_SHOWN = 50


def watch_branches(session: Session) -> int:
    """Check branches that moved until none is due; return the number of published warnings.

    Return at once if another process does it. A branch that moves while this job ends finds the
    lock held and starts no other job; so this job checks again once the lock is free. After a
    failure, which is raised, the due branches are left alone for a minute.
    """
    warned = 0
    while _is_due(session):
        try:
            lock = hold_descriptor(
                lock_path(session),
                deadline_ms=clock.monotonic_ms() + LOCK_TIMEOUT_MS,
                complaint="another radar is running",
            )
        except Conflict:
            break
        try:
            while _is_due(session):
                _wait_for_quiet(session)
                warned += check_branches(session)
        except Exception:
            put_off_radar(session.store, until=clock.now_ms() + RETRY_MS)
            raise
        finally:
            os.close(lock)
    return warned


def check_branches(session: Session) -> int:
    """Check the branches that moved once; return the number of published warnings."""
    with session.store.read() as reader:
        workers = all_workers(reader)
        due = newest_due(reader, now=clock.now_ms())
    watched = watched_branches(workers)
    known = {*watched, *targets_of(session, watched.values())}
    due = {ref: ts for ref, ts in due.items() if ref in known}
    found = survey(session, workers, chosen=due.keys())
    crash_point("radar-looked")
    with session.store.write() as writer:
        warned = sum(_warn(writer, meeting) for meeting in found.meetings)
        for ref, ts_ms in due.items():
            end_due(writer, ref, ts_ms=ts_ms)
        _delete_obsolete(writer, session, workers)
    crash_point("radar-published")
    if warned:
        with suppress(OSError):  # the next command brings them up to date
            export_logs(session.store, session.paths)
        notify_followers(session.paths.bell)
    return warned


def _is_due(session: Session) -> bool:
    with session.store.read() as reader:
        workers = all_workers(reader)
    return is_radar_due(session, workers)


def _wait_for_quiet(session: Session) -> None:
    """Wait until no branch has moved for a while, so that several commits are checked at once."""
    delay_ms = session.settings.radar_delay_s * 1000
    until = clock.monotonic_ms() + WAITS_AT_MOST * delay_ms
    while clock.monotonic_ms() < until:
        with session.store.read() as reader:
            due = newest_due(reader, now=clock.now_ms())
        left_ms = max(due.values()) + delay_ms - clock.now_ms() if due else 0
        if left_ms <= 0:
            return
        clock.sleep(min(left_ms, delay_ms) / 1000)


def _warn(writer: Writer, meeting: BranchPair) -> int:
    """Warn both workers of a new conflict; return how many were warned."""
    one, other = sorted((meeting.one, meeting.other))
    if meeting.files == ():
        forget_warning(writer, one.ref, other.ref)
    if not meeting.files:
        return 0
    now = clock.now_ms()
    if not add_warning(writer, one.ref, other.ref, now=now):
        return 0
    recipients = [(one, other), (other, one)]
    messages = [_warning(meeting, to, by) for to, by in recipients if to.worker is not None]
    for message in messages:
        publish(writer, message, now=now)
    return len(messages)


def _warning(meeting: BranchPair, to: RadarBranch, by: RadarBranch) -> Outgoing:
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


def _delete_obsolete(writer: Writer, session: Session, workers: list[Worker]) -> None:
    """Delete due rows and warnings of branches that no worker has any more."""
    held = [worker.ref for worker in workers if worker.branch]
    watched = watched_branches(workers)
    targets = targets_of(session, watched.values())
    forget_other_due(writer, [*targets, *held])
    forget_other_warnings(writer, [*targets, *watched])
