"""News of the repository for the open pages: one thread watches, every stream wakes with it.

The id of an event is a digest of the status that a page was made from. So a page that returns after
a sleep, or after the server was started again, learns whether it is still current.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from gitworker.service.live.status_thread import StatusThread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from gitworker.errors import GitWorkerError
    from gitworker.observe.workers.status import StatusScreen
    from gitworker.service import Service

T = TypeVar("T")
PING_S = 15.0  # how soon a client that has disappeared is noticed
STREAMS_AT_MOST = 64
ANSWER_FIRST_S = 0.1  # the answer to a button's change comes before the status is read again
RETRY_MS = 1000
CHANGED = "changed"
FAILURES_AT_MOST = 3  # a busy database fails once; a repository that was moved goes on failing


class Hub:
    """The newest status, and the streams that wait for the next one."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._waiting: set[Stream] = set()
        self._frame: StatusScreen | None = None
        self._id = ""
        self._derived: dict[str, tuple[str, Any]] = {}
        self._failures = 0  # of the status in a row
        self._error: GitWorkerError | None = None
        self._thread = StatusThread(
            service, self._accept, name="gitworker.web", delay_s=ANSWER_FIRST_S, failed=self._fail
        )

    def start(self) -> None:
        """Begin to watch; the first status is read before this returns.

        Raises the reason if it cannot be read.
        """
        self._thread.start()
        self._thread.wait_for_first()
        if self._frame is None:
            try:
                self._accept(self._service.status(every_subject=False))
            except BaseException:
                self._thread.close()
                raise

    def close(self) -> None:
        """Stop watching and end every stream."""
        self._thread.close()
        for one in self._streams():
            one.end()

    @property
    def newest(self) -> tuple[str, StatusScreen]:
        """Return the newest status with its id."""
        with self._lock:
            assert self._frame is not None
            return self._id, self._frame

    def require_current(self) -> StatusScreen:
        """Return the newest status; raise the reason if it could not be read several times."""
        with self._lock:
            assert self._frame is not None
            if self._error is not None and self._failures >= FAILURES_AT_MOST:
                raise self._error
            return self._frame

    def derived(self, name: str, read: Callable[[], T]) -> T:
        """Return a value that changes only with the status; it is read once for each status."""
        found, _ = self.newest
        value: T | None = self.find_derived(name)
        if value is None:
            value = read()
            with self._lock:
                self._derived[name] = (found, value)
        return value

    def find_derived(self, name: str) -> Any:
        """Return the value of `derived` if it was read for the newest status; else None."""
        with self._lock:
            status, value = self._derived.get(name, ("", None))
            return value if status == self._id else None

    def forget(self, name: str) -> None:
        """Forget a value of `derived`, and let every page load its live parts again."""
        with self._lock:
            self._derived.pop(name, None)
        self.announce(CHANGED)

    def open_stream(self) -> Stream | None:
        """Return a new stream; None if there are too many."""
        with self._lock:
            if len(self._waiting) >= STREAMS_AT_MOST:
                return None
            stream = Stream(asyncio.get_running_loop())
            self._waiting.add(stream)
            return stream

    def end_stream(self, stream: Stream) -> None:
        """Forget a stream."""
        with self._lock:
            self._waiting.discard(stream)

    def announce(self, kind: str) -> None:
        """Send an event without an id to every page, such as `notice`."""
        for one in self._streams():
            one.wake(kind)

    async def events(self, stream: Stream, last: str) -> AsyncGenerator[str]:
        """Yield the events of a page that was made from the status with the id `last`."""
        yield f"retry: {RETRY_MS}\n\n"
        while not stream.is_ended:
            found, _ = self.newest
            if found != last:
                last = found
                yield f"id: {found}\nevent: {CHANGED}\ndata: {found}\n\n"
            for kind in stream.take():
                yield f"event: {kind}\ndata: -\n\n"
            if not await stream.wait(PING_S):
                yield ": ping\n\n"

    def _accept(self, frame: StatusScreen) -> None:
        text = repr(frame._replace(now_ms=0)).encode("utf-8", "surrogateescape")
        with self._lock:
            self._frame, self._id = frame, hashlib.blake2b(text, digest_size=8).hexdigest()
            is_back = self._failures >= FAILURES_AT_MOST
            self._failures = 0
        self.announce(CHANGED if is_back else "")

    def _fail(self, error: GitWorkerError) -> None:
        with self._lock:
            self._error, self._failures = error, self._failures + 1
        if self._failures == FAILURES_AT_MOST:
            self.announce(CHANGED)

    def _streams(self) -> list[Stream]:
        with self._lock:
            return list(self._waiting)


class Stream:
    """One page that waits, in its server's loop; other threads wake it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._event = asyncio.Event()
        self._kinds: dict[str, None] = {}
        self.is_ended = False

    def wake(self, kind: str) -> None:
        """Let the stream look for news, from any thread; `kind` is an event of its own."""
        if kind:
            self._kinds[kind] = None
        try:
            self._loop.call_soon_threadsafe(self._event.set)
        except RuntimeError:  # the loop has ended
            self.is_ended = True

    def end(self) -> None:
        """Let the stream end."""
        self.is_ended = True
        self.wake("")

    def take(self) -> list[str]:
        """Return the kinds of events since the last call."""
        kinds = list(self._kinds)
        for kind in kinds:
            del self._kinds[kind]
        return kinds

    async def wait(self, seconds: float) -> bool:
        """Wait for news; return False if there were none for that long."""
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return False
        self._event.clear()
        return True
