"""The check of notifications: their targets can be used, and the last events were sent."""

from collections.abc import Iterator

from gitworker.fsck.finding import Finding, ok, warn
from gitworker.notifications.events import read_targets
from gitworker.notifications.send import INSTALL, is_known_url
from gitworker.notifications.start_job import is_installed
from gitworker.rules_text import masked_url
from gitworker.session import Session
from gitworker.store.attention.notifications import newest_notifications

READ = 100
TEST = "git worker notify --test"


def check_notifications(session: Session) -> Iterator[Finding]:
    """Check the targets, and name the events that were not sent since one was; silent without any.

    A target that did not get an event is reported until a later event was sent.
    """
    with session.store.read() as reader:
        targets = read_targets(reader, session)
        newest = newest_notifications(reader, READ)
    urls = [*targets.urls, *targets.of_projects.values()]
    if not urls:
        return
    if not is_installed():
        yield warn("notify", "targets of notifications are set, but the Python package apprise is"
                   " not installed", INSTALL)  # fmt: skip
        return
    unknown = [masked_url(url) for url in urls if not is_known_url(url)]
    if unknown:
        yield warn("notify", f"Apprise does not know the target {', '.join(unknown)}", TEST)
    failed = []
    for one in newest:
        if one.ended_at_ms is not None and one.error is None:
            break
        failed += [one] if one.error is not None else []
    if failed:
        number = f"{len(failed)} events were" if len(failed) > 1 else "1 event was"
        yield warn("notify", f"{number} not sent: {failed[0].title}: {failed[0].error}", TEST)
    if not unknown and not failed:
        yield ok("notify", f"notifications are sent to {', '.join(map(masked_url, urls))}")
