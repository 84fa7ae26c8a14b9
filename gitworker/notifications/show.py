"""The targets of notifications and the last events, as data, text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gitworker import clock
from gitworker.notifications.events import read_targets
from gitworker.observe.text import age_text, cut, one_line
from gitworker.rules_text import masked_url
from gitworker.store.attention.notifications import SentNotification, newest_notifications

if TYPE_CHECKING:
    from gitworker.notifications.send import Delivery
    from gitworker.session import Session

SHOWN = 20


class NotificationList(NamedTuple):
    """The targets, each with its project or None, and the last events, the newest first."""

    now_ms: int
    targets: tuple[tuple[str, str | None], ...]
    sent: tuple[SentNotification, ...]


def read_notifications(session: Session) -> NotificationList:
    """Read the targets, without their secrets, and the events that were sent last."""
    with session.store.read() as reader:
        targets = read_targets(reader, session)
        sent = newest_notifications(reader, SHOWN)
    of_settings = [(masked_url(url), None) for url in targets.urls]
    of_projects = [(masked_url(url), project) for project, url in targets.of_projects.items()]
    return NotificationList(clock.now_ms(), (*of_settings, *of_projects), tuple(sent))


def render_notifications(found: NotificationList, *, width: int | None, color: bool) -> str:
    """Return one line for each target, then one for each event."""
    lines = [_target(target, project) for target, project in found.targets]
    for one in found.sent:
        age = age_text(max(0, found.now_ms - one.begun_at_ms))
        state = one.error or ("sent" if one.ended_at_ms is not None else "being sent")
        lines.append(cut(one_line(f"{one.event} {age}: {one.title} ({state})"), width))
    return "\n".join(lines) or ("" if width is None else "no notifications are sent")


def json_notifications(found: NotificationList) -> dict[str, Any]:
    """Return targets and events as JSON data."""
    return {
        "targets": [{"url": target, "project": project} for target, project in found.targets],
        "notifications": [
            {
                "event": one.event, "title": one.title, "at": clock.iso_utc(one.begun_at_ms),
                "sent": one.ended_at_ms is not None and one.error is None, "error": one.error,
            }
            for one in found.sent
        ],
    }  # fmt: skip


def render_test(found: list[Delivery], *, width: int | None, color: bool) -> str:
    """Return one line for each target that got the test."""
    return "\n".join(f"sent to {_target(one.target, one.project)}" for one in found)


def json_test(found: list[Delivery]) -> dict[str, Any]:
    """Return the targets that got the test as JSON data."""
    return {"targets": [json_delivery(one) for one in found]}


def json_delivery(one: Delivery) -> dict[str, Any]:
    """Return a target that got a message as JSON data."""
    return {"url": one.target, "project": one.project}


def _target(target: str, project: str | None) -> str:
    return one_line(f"{target} of project {project}" if project else target)
