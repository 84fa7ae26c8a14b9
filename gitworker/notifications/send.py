"""Send notifications by Apprise: the events of the job, and a test.

Only the functions that send import Apprise, which costs 0.3 s.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gitworker import clock
from gitworker.crashpoint import crash_point
from gitworker.errors import Conflict, Invalid, NotFound, Unavailable
from gitworker.notifications.events import read_new_events, read_targets
from gitworker.notifications.rules_notify import failure_text, is_missed
from gitworker.notifications.start_job import is_installed, lock_path
from gitworker.repo.plumbing.repository_lock import hold_descriptor
from gitworker.rules_text import is_url, masked_url
from gitworker.store.attention.notifications import (
    begin_notification,
    break_off,
    end_notification,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from gitworker.notifications.rules_notify import Event, Targets
    from gitworker.session import Session

INSTALL = "pip install 'gitworker[notify]'"
LOCK_TIMEOUT_MS = 200  # a process that only looks for a job holds the lock for an instant
FINAL_TIMEOUT_MS = 60_000  # the end of a run also sends events that another job leaves out
KILLED = "the job that sent it was killed"


class Delivery(NamedTuple):
    """A target without its secrets, its project, and the reason if it did not get a message."""

    target: str
    project: str | None
    error: str | None


def send_new_events(
    session: Session, *, is_final: bool = False, failed: Callable[[str], object]
) -> int:
    """Send the events that are new, each once; return their number.

    Return at once if another process does it. An event that comes while this job ends finds the
    lock held and starts no other job; so this job looks again once the lock is free. `failed`
    receives each failure in words.
    """
    tried: set[str] = set()
    timeout_ms = FINAL_TIMEOUT_MS if is_final else LOCK_TIMEOUT_MS
    while _read(session, is_final, tried)[1]:
        try:
            lock = hold_descriptor(
                lock_path(session),
                deadline_ms=clock.monotonic_ms() + timeout_ms,
                complaint="another job sends notifications",
            )
        except Conflict:
            break
        try:
            with session.store.write_own() as writer:
                break_off(writer, error=KILLED, now=clock.now_ms())
            while (found := _read(session, is_final, tried))[1]:
                targets, events = found
                tried.add(events[0].key)
                _send(session, targets, events[0], failed)
        finally:
            os.close(lock)
    return len(tried)


def send_test(session: Session) -> list[Delivery]:
    """Send a test to every target, and return them.

    Raises NotFound without a target, and Unavailable without Apprise or if a target did not get it.
    """
    with session.store.read() as reader:
        targets = read_targets(reader, session)
    if not targets.urls and not targets.of_projects:
        raise NotFound("no target of notifications is set", "git worker config notify.urls <url>")
    if not is_installed():
        raise Unavailable(
            "notifications need the Python package apprise", INSTALL, code="no_apprise"
        )
    wanted = [(None, url) for url in targets.urls] + list(targets.of_projects.items())
    title, body = _titled(session, "a test"), "Notifications of this repository arrive here."
    found = [
        Delivery(masked_url(url), project, deliver(url, title, body)) for project, url in wanted
    ]
    errors = [one.error for one in found if one.error is not None]
    if errors:
        raise Unavailable(
            f"{len(errors)} of {len(found)} targets did not get the test: {'; '.join(errors)}",
            "git worker config notify.urls <url>", code="not_notified",
        )  # fmt: skip
    now = clock.now_ms()
    with session.store.write_own() as writer:  # an earlier failure is settled
        begin_notification(writer, f"test:{now}", event="test", title="a test", now=now)
        end_notification(writer, f"test:{now}", error=None, now=now)
    return found


def deliver(url: str, title: str, body: str) -> str | None:
    """Send one message to a target and wait; return the reason if it did not get it, else None."""
    import apprise

    with apprise.LogCapture(level=apprise.logging.WARNING) as captured:
        service = apprise.Apprise()
        if not service.add(url):
            return f"{masked_url(url)}: Apprise does not know this kind of URL"
        if service.notify(title=title, body=body, body_format=apprise.NotifyFormat.TEXT):
            return None
        return failure_text(captured.getvalue(), url)


def is_known_url(url: str) -> bool:
    """Return whether Apprise can send to a target."""
    import apprise

    with apprise.LogCapture(level=apprise.logging.WARNING):
        return bool(apprise.Apprise().add(url))


def require_known_urls(urls: Iterable[str]) -> None:
    """Raise Invalid for a URL to which Apprise cannot send; without Apprise it is not known."""
    for url in urls if is_installed() else ():
        if is_url(url) and not is_known_url(url):
            raise Invalid(
                f"Apprise does not know the target {masked_url(url)}",
                "git worker config notify.urls <url>",
            )


def _read(session: Session, is_final: bool, tried: Collection[str]) -> tuple[Targets, list[Event]]:
    with session.store.read() as reader:
        targets = read_targets(reader, session)
        events = read_new_events(reader, targets, is_final=is_final)
    return targets, [one for one in events if one.key not in tried]


def _send(
    session: Session, targets: Targets, event: Event, failed: Callable[[str], object]
) -> None:
    """Send one event to its targets, unless another process was faster."""
    with session.store.write_own() as writer:
        is_ours = begin_notification(
            writer, event.key, event=event.event, title=event.title, now=clock.now_ms()
        )
    if not is_ours:
        return
    crash_point("notification-begun")
    title, urls = _titled(session, event.title), targets.urls_of(event.event, event.project)
    errors = [error for url in urls if (error := deliver(url, title, event.body)) is not None]
    with session.store.write_own() as writer:
        end_notification(
            writer, event.key, error="; ".join(errors) or None, now=clock.now_ms(),
            missed=is_missed(errors, targets=len(urls)),
        )  # fmt: skip
    for error in errors:
        failed(f"{event.title}: {error}")


def _titled(session: Session, text: str) -> str:
    return f"{os.path.basename(session.main_top)}: {text}"
