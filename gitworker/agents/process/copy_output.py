"""Pumps copy an agent's output to its log and to the caller, and the caller's keys to the agent.

Each is a thread with plain blocking reads and writes: a slow reader slows the agent, as it would
without us, and never the supervisor. Bytes are not decoded.
"""

from __future__ import annotations

import os
import select
import threading

from gitworker import clock
from gitworker.agents.process.agent_log import AgentLog
from gitworker.agents.process.redacted_lines import RedactedLines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 1 << 16
IDLE_MS = 500  # then a line that has not ended, such as a question, is logged
QUIET_MS = 200  # after the agent's end: for so long a pipe that is still open is read
DRAIN_MS = 5000


class Pump:
    """Copy from the descriptor `source` to `sink` (None: discard) and, without secrets, to a log.

    If the caller's reader has closed, the source is closed: the agent sees that as it would without
    us, once `on_broken` has closed the other copies of the source. Any other failure of the sink
    ends the copying to it, but not to the log. `translate` changes the bytes on their way; it gets
    None at their end.
    """

    def __init__(
        self,
        source: int,
        sink: int | None,
        log: AgentLog,
        *,
        keeps_source: bool = False,
        on_broken: Callable[[], None] | None = None,
        translate: Callable[[bytes | None], bytes] | None = None,
    ) -> None:
        self._on_broken = on_broken
        self._source = source
        self._sink = sink
        self._log = log
        self._lines = RedactedLines()
        self._keeps_source = keeps_source
        self._translate = translate
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="pump", daemon=True)

    def start(self) -> None:
        """Begin copying."""
        self._thread.start()

    def finish(self) -> None:
        """Begin to copy the rest of the pipe, and then end; to be called after the agent's end."""
        os.close(self._stop_write)

    def join(self) -> None:
        """Wait for the end of the copying, as long as the reader of our output takes."""
        self._thread.join()

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        poll.register(self._stop_read, 0)  # a hang-up is always reported
        while True:
            ready = poll.poll(IDLE_MS if self._lines.is_holding else None)
            if not ready:
                self._log.write(self._lines.end())
            if any(fd == self._stop_read for fd, _ in ready):
                break
            if ready and not self._copy():
                return
        self._drain()

    def _drain(self) -> None:
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        deadline = clock.monotonic_ms() + DRAIN_MS
        while poll.poll(QUIET_MS):
            began = clock.monotonic_ms()
            if began >= deadline:
                break
            if not self._copy():
                return
            deadline += clock.monotonic_ms() - began  # time of a slow reader does not count
        self._close_source()

    def _copy(self) -> bool:
        """Copy one chunk; return True if there may be more."""
        try:
            data = os.read(self._source, CHUNK)
        except OSError:  # EIO: the last process on the agent's side of the pty has closed it
            data = b""
        if not data:
            self._close_source()
            return False
        return self._pass_on(data if self._translate is None else self._translate(data))

    def _pass_on(self, data: bytes) -> bool:
        """Write to the log and the sink; return False if the sink's reader has closed it."""
        if data:
            self._log.write(self._lines.feed(data))
        if self._sink is None:
            return True
        try:
            _write_all(self._sink, data)
        except BrokenPipeError:
            self._sink = None
            if self._on_broken is not None:
                self._on_broken()
            self._close_source()
            return False
        except OSError:  # closed, or a full disk
            self._sink = None
        return True

    def _close_source(self) -> None:
        if self._translate is not None:
            translate, self._translate = self._translate, None
            self._pass_on(translate(None))
        self._log.write(self._lines.end())
        if not self._keeps_source:
            self._keeps_source = True
            os.close(self._source)


def _write_all(fd: int, data: bytes) -> None:
    """Write everything, also if another program has made the descriptor non-blocking."""
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(fd, left) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(fd, select.POLLOUT)
            poll.poll()


class KeyPump:
    """Copy keys typed at the caller's terminal to the agent's, until it is stopped."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._run, name="keys", daemon=True)

    def start(self) -> None:
        """Begin copying."""
        self._thread.start()

    def finish(self) -> None:
        """End; keys typed from now on are the caller's own."""
        os.close(self._stop_write)
        self._thread.join(QUIET_MS / 1000)

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        poll.register(self._stop_read, 0)
        try:
            while all(fd != self._stop_read for fd, _ in poll.poll()):
                data = os.read(self._source, CHUNK)
                if not data:
                    return
                _write_all(self._sink, data)
        except OSError:  # a terminal was closed
            return
