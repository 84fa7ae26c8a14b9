"""Heartbeats of a handler loop, sent while it waits and while a handler runs.

They keep a prune from deleting the agent's unread messages, and a long handler from looking dead.
Each heartbeat also stores the monotonic clock, so a jump of the wall clock does not make it old.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.errors import GitWorkerError
from gitworker.store.backend import open_store
from gitworker.store.heartbeats import renew_heartbeat
from gitworker.store.messages.mailbox import move_cursor

if TYPE_CHECKING:
    from gitworker.store.api import Store

EVERY_S = 10.0  # the bus protocol's interval
ENDS_WITHIN_S = 5.0


class LoopHeartbeat:
    """Sends an agent's heartbeats from its own thread while its `with` block runs.

    `database` is the path of bus.db. The agent also gets a cursor, so that broadcasts are kept
    until it reads them. A busy database loses one heartbeat but does not end the thread.
    """

    def __init__(self, database: str, *, agent: str, task: str | None) -> None:
        self._database = database
        self._agent = agent
        self._task = task
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="alive", daemon=True)

    def __enter__(self) -> None:
        """Send a heartbeat and start the thread."""
        self._send()
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        """End the thread."""
        self._is_over.set()
        self._thread.join(ENDS_WITHIN_S)

    def _loop(self) -> None:
        while not self._is_over.wait(EVERY_S):
            self._send()

    def _send(self) -> None:
        with suppress(GitWorkerError, OSError):  # the next heartbeat tries again
            store = open_store(self._database)
            try:
                self._record(store)
            finally:
                store.close()

    def _record(self, store: Store) -> None:
        with store.write(durable=False) as writer:
            renew_heartbeat(writer, self._agent, task=self._task)
            move_cursor(writer, self._agent, 0, now=clock.now_ms())
