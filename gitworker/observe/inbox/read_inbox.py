"""Read the inbox of the caller: a worker's messages, or the needs of `hq`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitworker.model.ids import RESERVED

if TYPE_CHECKING:
    from gitworker.observe.inbox.inbox import Inbox
    from gitworker.session import Session

LIMIT = 50


def read_inbox(session: Session, *, limit: int | None = None) -> Inbox:
    """Read the inbox of the session's identity in one snapshot; write nothing."""
    if session.actor in RESERVED:
        from gitworker.observe.inbox.needs import read_needs  # each reader pays for its own only

        return read_needs(session, limit=limit or LIMIT)
    from gitworker.observe.inbox.mail import read_mail

    return read_mail(session, limit=limit or LIMIT)
