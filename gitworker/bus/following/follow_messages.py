"""Follow the bus: every message as it comes, without a cursor.

The loop reads the messages after the last one in one short transaction, then waits for the waker
(`Store.open_waker`). It ends when the database is deleted or replaced.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gitworker.bus.following.message_fields import message_fields
from gitworker.errors import REPLACED, Unavailable
from gitworker.paths import StatePaths, file_identity
from gitworker.store.api import Store, Waker
from gitworker.store.messages.mailbox import StoredMessage, messages_after, newest_seq

BATCH = 500
MAX_WAIT_S = 2.0  # until the next look, if no waker noticed anything


class MessageFilter(NamedTuple):
    """A selection of messages; None accepts every value."""

    task: str | None = None
    type: str | None = None
    sender: str | None = None

    def wants(self, message: StoredMessage) -> bool:
        """Return whether a message passes."""
        return (
            self.task in (None, message.correlation_id)
            and self.type in (None, message.type)
            and self.sender in (None, message.from_agent)
        )


def follow(
    store: Store,
    paths: StatePaths,
    wanted: MessageFilter,
    *,
    since: int | None,
    waker: Waker,
    also: Mapping[int, int] | None = None,
    max_wait_s: float = MAX_WAIT_S,
) -> Iterator[dict[str, Any] | None]:
    """Yield messages in order as they come; end when the database is deleted or replaced.

    Begins after `since`, by default now. Yields None if no message came for `max_wait_s` seconds,
    or if a descriptor in `also` (mapped to poll(2) events) is ready, so that the caller can react.
    Writes nothing; no transaction stays open between two messages.
    """
    identity = file_identity(paths.database)
    with store.read() as reader:
        after = newest_seq(reader) if since is None else since
    while identity is not None and file_identity(paths.database) == identity:
        with store.read() as reader:
            found = messages_after(reader, after, limit=BATCH)
        for message in found:
            after = message.seq
            if wanted.wants(message):
                yield message_fields(message, blobs=paths.blobs)
        if found:
            waker.rest()
        elif not _wait(waker, max_wait_s, also):
            yield None


def _wait(waker: Waker, seconds: float, also: Mapping[int, int] | None) -> bool:
    """Wait for news; a deleted or replaced database is news that ends the caller's loop."""
    try:
        return waker.wait(seconds, also=also)
    except Unavailable as error:
        if error.code != REPLACED:
            raise
        return True
