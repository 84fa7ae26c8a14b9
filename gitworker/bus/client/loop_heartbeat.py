"""A loop's sign of life: it beats while it waits and while a handler is at work.

So that a prune leaves it what it has not read, and nobody takes a long handler for death. A beat
has the monotonic clock beside it: a wall clock that jumps makes no loop look old.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from gitworker import clock
from gitworker.errors import GitWorkerError
from gitworker.store.heartbeats import touch
from gitworker.store.sqlite.migrate import open_database

if TYPE_CHECKING:
    from gitworker.bus.client.library import Bus
    from gitworker.store.api import Store

EVERY_S = 10.0  # seed 2
ENDS_WITHIN_S = 5.0


class SignOfLife:
    """Beats for a bus's agent in a thread of its own, from the beginning of a `with` to its end.

    The agent has a cursor from then on: what is sent to everybody waits for it too. A busy database
    costs a beat, never the thread.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="alive", daemon=True)

    def __enter__(self) -> None:
        """Beat, and go on beating."""
        with suppress(GitWorkerError):
            self._beat(self._bus.store)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        """Beat no more."""
        self._is_over.set()
        self._thread.join(ENDS_WITHIN_S)

    def _loop(self) -> None:
        while not self._is_over.wait(EVERY_S):
            with suppress(GitWorkerError, OSError):  # the next one tries again
                store = open_database(self._bus.paths.database)
                try:
                    self._beat(store)
                finally:
                    store.close()

    def _beat(self, store: Store) -> None:
        agent = self._bus.agent
        with store.write(durable=False) as writer:
            touch(writer, agent, task=self._bus.task)
            writer.run("messages.ack", agent=agent, seq=0, now=clock.now_ms())
