"""The log of a worker's agent as events: a thread follows it, the newest lines are sent.

A stream begins with the last lines, so a page that connects again shows the log without a gap. The
lines are text: terminal codes are interpreted or removed, and control characters are escaped.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from typing import TYPE_CHECKING

from gitworker.errors import GitWorkerError
from gitworker.observe.logs.events import Event
from gitworker.observe.logs.rules_screen import rendered
from gitworker.rules_text import printable
from gitworker.service.live.watch import Pause

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from gitworker.service import Service

LINES_KEPT = 400
LINE_AT_MOST = 2000
PAUSE_S = 0.25
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
        end = "the log has ended"
        try:
            for one in self._service.follow_log(self._worker, limit=1, pause=Pause(PAUSE_S)):
                if self._stopped.is_set():
                    return
                if isinstance(one, Event):
                    self._add(one)
                elif one is not None:
                    end = f"the agent has ended{f': {one.reason}' if one.reason else ''}"
        except GitWorkerError as error:
            end = error.message
        except Exception as error:  # noqa: BLE001 -- the loop of a service: a bug must not end it
            import logging  # 10 ms, only after a bug

            logging.getLogger("gitworker.web").warning(
                "the log of %s cannot be read: %s: %s", self._worker, type(error).__name__, error
            )
            end = ""
        self._end = printable(end)
        self._wake()

    def _add(self, event: Event) -> None:
        if event.kind != "log":
            return
        for row in rendered((event.body or "")[:LINE_AT_MOST]):
            self._lines.append(printable(row))
            self._number += 1
        self._wake()

    def _wake(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)
