"""The log of a worker's agent as events: a thread follows it, the newest lines are sent.

A stream begins with the last lines, so a page that connects again shows the log without a gap.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from typing import TYPE_CHECKING

from gitworker.service.live.log_lines import follow_lines

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from gitworker.service import Service

LINES_KEPT = 400
PING_S = 15.0


class LogStream:
    """The lines that one page has not been sent yet; the oldest are left out."""

    def __init__(self, service: Service, worker: str) -> None:
        self._service, self._worker = service, worker
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._number = 0
        self._stopped = threading.Event()
        self._end: str | None = None  # the reason; empty after a bug

    async def events(self) -> AsyncGenerator[str]:
        """Yield `start`, then the lines in batches, then `end` with the reason.

        After a bug there is no `end`, so the page connects again.
        """
        try:
            threading.Thread(target=self._follow, name="log", daemon=True).start()
            yield "event: start\ndata: []\n\n"
            while True:
                try:
                    await asyncio.wait_for(self._news.wait(), PING_S)
                except TimeoutError:
                    yield ": ping\n\n"
                    continue
                self._news.clear()
                lines = [self._lines.popleft() for _ in range(len(self._lines))]
                if lines:
                    yield f"id: {self._number}\nevent: log\ndata: {json.dumps(lines)}\n\n"
                if self._end is not None and not self._lines:
                    if self._end:
                        yield f"event: end\ndata: {json.dumps(self._end)}\n\n"
                    return
        finally:
            self._stopped.set()

    def _follow(self) -> None:
        self._end = follow_lines(
            self._service, self._worker, self._add, self._stopped.is_set, name="gitworker.web"
        )
        self._wake()

    def _add(self, rows: list[str]) -> None:
        self._lines.extend(rows)
        self._number += len(rows)
        self._wake()

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)
