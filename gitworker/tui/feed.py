"""The newest status for the screens: it is read before Textual is loaded, so that both overlap."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gitworker.service.live.status_thread import StatusThread

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitworker.errors import GitWorkerError
    from gitworker.observe.workers.status import StatusScreen
    from gitworker.service import Service


class Feed:
    """The newest status, and why the repository cannot be read, if that is so."""

    def __init__(self, service: Service) -> None:
        self._lock = threading.Lock()
        self._wake: Callable[[], None] | None = None
        self._frame: StatusScreen | None = None
        self._error: GitWorkerError | None = None
        self._thread = StatusThread(
            service, self._accept, name="gitworker.tui", failed=self._set_error
        )
        self._thread.start()

    @property
    def newest(self) -> tuple[StatusScreen | None, GitWorkerError | None]:
        """Return the newest status and the error since then."""
        with self._lock:
            return self._frame, self._error

    def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` from the thread after each change; also now if there was one already."""
        with self._lock:
            self._wake = wake
            is_known = self._frame is not None or self._error is not None
        if is_known:
            wake()

    def close(self) -> None:
        """Stop watching."""
        with self._lock:
            self._wake = None
        self._thread.close()

    def _accept(self, frame: StatusScreen) -> None:
        self._set(frame, None)

    def _set_error(self, error: GitWorkerError) -> None:
        with self._lock:
            frame = self._frame
        self._set(frame, error)

    def _set(self, frame: StatusScreen | None, error: GitWorkerError | None) -> None:
        with self._lock:
            self._frame, self._error, wake = frame, error, self._wake
        if wake is not None:
            wake()
